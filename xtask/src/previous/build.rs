//! One program, built against the sources of the last release and against those of today.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::artifacts;
use crate::workspace::{self, metadata, root};

/// Both programs, and what the release is called.
pub(super) struct Programs {
    pub(super) old: PathBuf,
    pub(super) new: PathBuf,
    pub(super) name: String,
}

impl Programs {
    /// Builds both, in a folder of their own below the workspace's target folder.
    pub(super) fn build() -> Result<Self, Box<dyn Error>> {
        let released = fs::read_to_string(root().join("tests/previous/released.toml"))?;
        let (name, commit) = (value(&released, "name")?, value(&released, "commit")?);
        let target = metadata()?["target_directory"].as_str().ok_or("cargo names no target folder")?.to_owned();
        let folder = Path::new(&target).join("previous");
        let sources = folder.join(&commit);
        if !sources.join("Cargo.toml").exists() {
            extract(&commit, &sources)?;
        }
        let (old, new) = (build(&sources, &folder, "old")?, build(&root(), &folder, "new")?);
        Ok(Self { old, new, name })
    }
}

/// What `key = "value"` says.
fn value(text: &str, key: &str) -> Result<String, String> {
    let said = text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('=')?.trim().strip_prefix('"'));
    let said = said.and_then(|said| said.strip_suffix('"'));
    said.map(str::to_owned).ok_or_else(|| format!("tests/previous/released.toml does not say its `{key}`"))
}

/// The sources of a commit, in a folder that is there whole or not at all.
fn extract(commit: &str, sources: &Path) -> Result<(), Box<dyn Error>> {
    let unfinished = sources.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished)?;
    let mut git = Command::new("git");
    git.current_dir(root()).args(["archive", "--format=tar", commit]).stdout(Stdio::piped());
    let mut archive = git.spawn().map_err(|error| format!("git, which has the released sources: {error}"))?;
    let tar = archive.stdout.take().ok_or("git has no output")?;
    let unpacked = Command::new("tar").arg("-x").current_dir(&unfinished).stdin(tar).status()?.success();
    if !archive.wait()?.success() || !unpacked {
        return Err(format!("the sources of {commit} are not to be had: is this a shallow clone?").into());
    }
    Ok(fs::rename(unfinished, sources)?)
}

/// The program in a package of its own that depends on `library`. Both share a target folder, and so what they both depend on.
fn build(library: &Path, folder: &Path, which: &str) -> Result<PathBuf, Box<dyn Error>> {
    let (program, package) = (root().join("tests/previous/program"), folder.join(which));
    fs::create_dir_all(package.join("src"))?;
    let manifest = fs::read_to_string(program.join("Cargo.toml"))?;
    let path = format!("path = {:?}", library.display().to_string());
    fs::write(package.join("Cargo.toml"), manifest.replace("path = \"../../..\"", &path))?;
    fs::copy(program.join("src/main.rs"), package.join("src/main.rs"))?;
    // The versions that the library was tested with.
    fs::copy(library.join("Cargo.lock"), package.join("Cargo.lock"))?;
    let mut cargo = workspace::program();
    cargo
        .args(["build", "--message-format=json-render-diagnostics", "--manifest-path"])
        .arg(package.join("Cargo.toml"));
    cargo.env("CARGO_TARGET_DIR", folder.join("target"));
    let built =
        artifacts::build(&mut cargo)?.ok_or_else(|| format!("the program of {} does not build", library.display()))?;
    let built =
        built.into_iter().find(|artifact| artifact.id.ends_with("bin/previous")).ok_or("cargo built no `previous`")?;
    // The other one is built to the same place.
    let kept = folder.join(which).join("previous");
    fs::copy(built.executable, &kept)?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::value;

    /// A value is read as it is said, and one that is not there is asked for by name.
    #[test]
    fn reads_what_is_said() {
        let text = "# a comment\nname = \"0.1.0, first\"\ncommit = \"abc\"\n";
        assert_eq!(value(text, "name"), Ok("0.1.0, first".to_owned()));
        assert_eq!(value(text, "commit"), Ok("abc".to_owned()));
        assert!(value(text, "date").is_err_and(|error| error.contains("`date`")));
    }
}
