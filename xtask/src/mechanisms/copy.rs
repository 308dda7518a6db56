//! A copy of the workspace to take things out of, so that the checkout is never touched.

use std::error::Error;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The copy: the files that git knows of, as they stand in the checkout.
pub(crate) struct Copy {
    /// Its top folder.
    pub(crate) folder: PathBuf,
    /// Where it is built.
    pub(crate) target: PathBuf,
    /// Locked for as long as the copy is ours: two runs in one copy would each see what the other takes out and puts back.
    _lock: File,
}

impl Copy {
    /// Makes it, or brings the one of the last run up to date: what has not changed keeps its time, and is not built again.
    pub(crate) fn make(root: &Path) -> Result<Self, Box<dyn Error>> {
        let within = root.join("target/outbox/mechanisms");
        let lock = lock(&within)?;
        let copy = Self { folder: within.join("tree"), target: within.join("target"), _lock: lock };
        let listed = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output()?;
        if !listed.status.success() {
            return Err("`git ls-files` failed: this command copies the files that git knows of".into());
        }
        for file in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            take(&root.join(file), &copy.folder.join(file))?;
        }
        Ok(copy)
    }
}

fn lock(within: &Path) -> Result<File, Box<dyn Error>> {
    std::fs::create_dir_all(within)?;
    let lock = File::create(within.join("lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            Err(format!("another `cargo xtask mechanisms` works in {}; wait for its end", within.display()).into())
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn take(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    if from.is_symlink() {
        let _ = std::fs::remove_file(to);
        return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
    }
    let text = match std::fs::read(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return remove(to),
        read => read?,
    };
    if std::fs::read(to).is_ok_and(|there| there == text) { Ok(()) } else { std::fs::write(to, text) }
}

/// What was deleted in the checkout is no part of the copy.
fn remove(to: &Path) -> io::Result<()> {
    match std::fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::lock;

    #[test]
    fn a_copy_is_of_one_run_at_a_time() {
        let folder = std::env::temp_dir().join(format!("outbox-mechanisms-{}", std::process::id()));
        let first = lock(&folder).unwrap();
        assert!(lock(&folder).unwrap_err().to_string().contains("another `cargo xtask mechanisms`"));
        drop(first);
        lock(&folder).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
