//! Removes folders whose owner was killed before anybody watched over them, while it copied or fetched.

use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Process ids are another container's business too where the folder is shared, so a dead one is not enough.
const AGE: Duration = Duration::from_mins(10);

/// Removes what is below `parent`, is named `prefix-<process>-<number>`, and is nobody's any more.
pub(super) fn remove(parent: &Path, prefix: &str) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| owner(name, prefix));
        if owner.is_some_and(|owner| !is_alive(owner)) && is_old(&entry) && !is_served(&entry.path()) {
            // Somebody else's, perhaps, or just being removed: either way not worth a failure.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn owner(name: &str, prefix: &str) -> Option<Pid> {
    let (process, number) = name.strip_prefix(prefix)?.strip_prefix('-')?.split_once('-')?;
    number.parse::<u32>().ok()?;
    Pid::from_raw(process.parse().ok()?)
}

/// A process that we may not signal is alive as well.
fn is_alive(process: Pid) -> bool {
    test_kill_process(process) != Err(Errno::SRCH)
}

fn is_old(entry: &std::fs::DirEntry) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
    modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > AGE)
}

/// Whether a postmaster still runs on it.
fn is_served(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    let pid = text.lines().next().and_then(|line| line.trim().parse().ok());
    pid.and_then(Pid::from_raw).is_some_and(is_alive)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::SystemTime;

    use super::{AGE, remove};
    use crate::server::scratch::Scratch;

    fn dead_process() -> u32 {
        let mut child = Command::new("true").spawn().expect("`true` runs");
        child.wait().expect("and ends");
        child.id()
    }

    fn folder(parent: &Path, name: &str, old: bool) -> PathBuf {
        let folder = parent.join(name);
        std::fs::create_dir_all(folder.join("data")).expect("folder");
        if old {
            let modified = SystemTime::now() - AGE * 2;
            File::open(&folder).and_then(|file| file.set_modified(modified)).expect("ours");
        }
        folder
    }

    /// Only an old folder of a dead process without a running server is removed.
    #[test]
    fn only_what_is_nobodys_goes() {
        let parent = Scratch::within(&std::env::temp_dir(), "leftover").expect("scratch");
        let (dead, alive) = (dead_process(), std::process::id());
        let nobodys = folder(parent.path(), &format!("p-{dead}-0"), true);
        let young = folder(parent.path(), &format!("p-{dead}-1"), false);
        let owned = folder(parent.path(), &format!("p-{alive}-0"), true);
        let foreign = folder(parent.path(), &format!("q-{dead}-0"), true);
        let served = folder(parent.path(), &format!("p-{dead}-2"), true);
        std::fs::write(served.join("data/postmaster.pid"), format!("{alive}\n")).expect("file");
        remove(parent.path(), "p");
        assert!(!nobodys.exists());
        assert!([young, owned, foreign, served].iter().all(|folder| folder.exists()));
    }
}
