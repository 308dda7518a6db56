//! Follows a program's modules from its first source file, as the compiler does, so that each test gets the path that
//! the runner prints.

use std::path::{Path, PathBuf};

use super::numbers::{self, Number};
use super::source::{self, Declared};
use crate::workspace::relative;

/// A test with its place and what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marked {
    /// The program's first source file, from the top folder.
    pub(super) root: String,
    /// The file that the test stands in, from the top folder.
    pub(super) file: String,
    /// Its path below the program.
    pub(super) test: String,
    /// The documentation directly above it.
    pub(super) docs: String,
}

impl Marked {
    /// The numbers that it claims to prove.
    pub(super) fn numbers(&self) -> Vec<Number> {
        numbers::all(&self.docs)
    }

    /// Whether it names numbers by a range.
    pub(super) fn has_range(&self) -> bool {
        numbers::has_range(&self.docs)
    }
}

/// The tests of the program whose first source file is `root`.
pub(super) fn marked(root: &Path) -> Vec<Marked> {
    let mut marked = Vec::new();
    let folder = root.parent().unwrap_or(root);
    follow(root, folder, &[], &mut |file, test, docs| {
        marked.push(Marked { root: relative(root), file: relative(file), test, docs });
    });
    marked
}

/// `folder` is where the modules that `file` declares are.
fn follow(file: &Path, folder: &Path, path: &[String], found: &mut dyn FnMut(&Path, String, String)) {
    // A module may exist on other systems or with other features only; the compiler is who complains.
    let Ok(text) = std::fs::read_to_string(file) else { return };
    let source = source::read(&text);
    for test in source.tests {
        found(file, [path, &[test.path]].concat().join("::"), test.docs);
    }
    for module in source.modules {
        if let Some((child, below)) = place(file, folder, &module) {
            follow(&child, &below, &[path, &module.path].concat(), found);
        }
    }
}

/// The file of a declared module, and the folder of the modules that it declares in turn.
fn place(file: &Path, folder: &Path, module: &Declared) -> Option<(PathBuf, PathBuf)> {
    if let Some(named) = &module.file {
        let child = file.parent()?.join(named);
        let below = child.parent()?.to_owned();
        return Some((child, below));
    }
    let below = folder.join(module.path.iter().collect::<PathBuf>());
    let beside = below.with_extension("rs");
    let child = if beside.is_file() { beside } else { below.join("mod.rs") };
    Some((child, below))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::marked;

    /// A folder with a small program, removed on drop.
    struct Program(PathBuf);

    impl Program {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = std::env::temp_dir().join(format!("outbox-proofs-{}", std::process::id()));
            for (name, text) in files {
                let file = folder.join(name);
                std::fs::create_dir_all(file.parent().expect("in a folder")).expect("folder");
                std::fs::write(file, text).expect("file");
            }
            Self(folder)
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A test's path is made of the files' modules and the modules within the files, and a file that no module
    /// declares is no part of the program.
    #[test]
    fn paths_follow_the_modules() {
        let program = Program::new(&[
            ("main.rs", "mod publish; mod claim; mod inline { mod deep; } mod elsewhere;"),
            ("publish.rs", "mod more; /// S0-1\n#[test] fn a() {} mod inner { #[test] fn b() {} }"),
            ("publish/more.rs", "#[test] fn c() {}"),
            ("claim/mod.rs", "mod part; #[test] fn d() {}"),
            ("claim/part.rs", "#[test] fn e() {}"),
            ("inline/deep.rs", "#[test] fn f() {}"),
            ("forgotten.rs", "#[test] fn g() {}"),
        ]);
        let found = marked(&program.0.join("main.rs"));
        let paths: Vec<_> = found.iter().map(|marked| marked.test.as_str()).collect();
        assert_eq!(
            paths,
            ["publish::a", "publish::inner::b", "publish::more::c", "claim::d", "claim::part::e", "inline::deep::f"]
        );
        assert!(Path::new(&found[0].file).ends_with("publish.rs"));
        assert_eq!(found[0].numbers().len(), 1);
    }
}
