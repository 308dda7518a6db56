//! A folder of our own that goes when its owner goes.

use std::fs::{DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::leftover;

/// A new folder, private to its owner, removed with all it holds on drop.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a folder with a name of its own below `parent`.
    pub(super) fn within(parent: &Path, prefix: &str) -> std::io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        leftover::remove(parent, prefix);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{prefix}-{}-{number}", std::process::id()));
            // Creation fails on anything that is there already, so nobody can prepare the folder for us.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Backends of a killed server may write for a moment longer, which makes a removal fail half-way.
        for _ in 0..40 {
            match std::fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                _ => return,
            }
        }
    }
}

/// Lets every account read what is below `path`, and run what was meant to be run.
pub(super) fn open_to_all(path: &Path) -> std::io::Result<()> {
    let metadata = std::fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Ok(());
    }
    let mode = metadata.permissions().mode();
    let runnable = metadata.is_dir() || mode & 0o111 != 0;
    let added = if runnable { 0o555 } else { 0o444 };
    std::fs::set_permissions(path, Permissions::from_mode(mode | added))?;
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            open_to_all(&entry?.path())?;
        }
    }
    Ok(())
}
