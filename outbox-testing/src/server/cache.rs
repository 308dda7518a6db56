//! The folder that outlives a run: fetched servers and prepared data folders.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::ServerError;
use super::scratch::Scratch;

/// Where fetched servers and data templates are kept between runs.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// `OUTBOX_CACHE_DIR`, else `/var/cache/outbox` as root (a home folder is closed to the account that the server
    /// runs under), else the user's own cache folder, else a private folder below the temporary one.
    pub(super) fn from_env() -> Result<Self, ServerError> {
        if let Some(folder) = variable("OUTBOX_CACHE_DIR") {
            return Self::at(folder);
        }
        if rustix::process::geteuid().is_root() {
            return Self::at("/var/cache/outbox".into());
        }
        let home = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        match home.map(|home| Self::at(home.join("outbox"))) {
            Some(Ok(cache)) => Ok(cache),
            _ => Self::below_temporary(),
        }
    }

    /// A cache in this folder, which is created where it is not there.
    pub(super) fn at(folder: PathBuf) -> Result<Self, ServerError> {
        create(&folder).map_err(ServerError::io(format!("use the cache folder `{}`", folder.display())))?;
        Ok(Self { folder })
    }

    /// Where something of this name is, or would be.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A folder to prepare something in, on the same file system, so that `keep` can move it.
    pub(super) fn staging(&self) -> std::io::Result<Scratch> {
        Scratch::within(&self.folder, ".staging")
    }

    /// Moves a finished folder to its name in one step. Whoever came first wins, and both are as good.
    pub(super) fn keep(&self, finished: &Path, name: &str) -> std::io::Result<PathBuf> {
        let place = self.place(name);
        match std::fs::rename(finished, &place) {
            Err(error) if !place.exists() => Err(error),
            _ => Ok(place),
        }
    }

    /// For users without a home that they can write to. Its name can be guessed, so it must be ours alone.
    fn below_temporary() -> Result<Self, ServerError> {
        let uid = rustix::process::geteuid().as_raw();
        let cache = Self::at(std::env::temp_dir().join(format!("outbox-cache-{uid}")))?;
        let doing = format!("trust `{}`; set `OUTBOX_CACHE_DIR`", cache.folder.display());
        std::fs::symlink_metadata(&cache.folder)
            .and_then(|metadata| {
                let ours = metadata.is_dir() && metadata.uid() == uid && metadata.mode() & 0o022 == 0;
                ours.then_some(()).ok_or_else(|| std::io::Error::other("it is not this user's alone"))
            })
            .map_err(ServerError::io(doing))?;
        Ok(cache)
    }
}

/// Open to be read by all, whatever the umask: as root, the server runs under another account.
fn create(folder: &Path) -> std::io::Result<()> {
    if !folder.is_dir() {
        std::fs::create_dir_all(folder)?;
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    // Found out now and not after a long download.
    Scratch::within(folder, ".staging").map(drop)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
