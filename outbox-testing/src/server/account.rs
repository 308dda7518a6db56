//! Who the server runs as: whoever we are, except that root becomes an unprivileged account.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::error::ServerError;

/// The account that PostgreSQL's programs run under; `None` is our own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account(Option<(u32, u32)>);

impl Account {
    /// PostgreSQL refuses to run as root, so root lends it `postgres`, else `nobody`.
    pub(super) fn for_server() -> Result<Self, ServerError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self(None));
        }
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        entry(&passwd, "postgres")
            .or_else(|| entry(&passwd, "nobody"))
            .map(|ids| Self(Some(ids)))
            .ok_or(ServerError::NoAccount)
    }

    /// Whoever we are.
    pub(super) fn ours() -> Self {
        Self(None)
    }

    /// A command that runs `program` under this account, apart from the caller's surroundings.
    pub(super) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // The caller's folder may be closed to this account, and PostgreSQL wants to return to where it started.
        command.current_dir("/");
        for name in ["PGDATA", "PGPORT", "PGDATESTYLE", "PGTZ"] {
            command.env_remove(name);
        }
        if let Some((uid, gid)) = self.0 {
            // The standard library also drops root's other groups when it changes the user.
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Whether this account can get to a folder; root's own temporary folder may be closed to it.
    pub(super) fn reaches(self, folder: &Path) -> bool {
        let open = |folder: &Path| std::fs::metadata(folder).is_ok_and(|metadata| metadata.mode() & 0o001 != 0);
        self.0.is_none() || folder.ancestors().all(open)
    }

    /// Hands a file or folder to this account.
    pub(super) fn own(self, path: &Path) -> std::io::Result<()> {
        match self.0 {
            Some((uid, gid)) => std::os::unix::fs::lchown(path, Some(uid), Some(gid)),
            None => Ok(()),
        }
    }
}

/// The user and group id of `name`. macOS writes `nobody` as -2, which is the same 32 bits.
fn entry(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let id = |field: usize| {
        let id: i64 = line.split(':').nth(field)?.parse().ok()?;
        u32::try_from(id.rem_euclid(1 << 32)).ok()
    };
    Some((id(2)?, id(3)?))
}

#[cfg(test)]
mod tests {
    use super::{Account, entry};
    use crate::server::scratch::Scratch;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nnobody:*:-2:-2::/:/bin/false\npostgres:x:101:104::/:/bin/sh\n";

    /// Root finds the account to lend by its name, with the user and the group id.
    #[test]
    fn reads_user_and_group() {
        assert_eq!(entry(PASSWD, "postgres"), Some((101, 104)));
        assert_eq!(entry(PASSWD, "post"), None);
    }

    /// The negative ids that macOS writes are read as the ids that they mean.
    #[test]
    fn reads_negative_ids() {
        assert_eq!(entry(PASSWD, "nobody"), Some((u32::MAX - 1, u32::MAX - 1)));
    }

    /// A folder below a closed one is out of reach for the account that root lends, and within reach of our own.
    #[test]
    fn closed_folders_are_out_of_reach() {
        let closed = Scratch::within(&std::env::temp_dir(), "reach").expect("scratch");
        let below = closed.path().join("below");
        std::fs::create_dir(&below).expect("folder");
        assert!(!Account(Some((65534, 65534))).reaches(&below));
        assert!(Account::ours().reaches(&below));
    }
}
