//! `cargo xtask demo`: the storefront example.

use std::path::Path;

use crate::child::{Running, exit_code};
use crate::workspace::cargo;
use crate::{Outcome, arguments};

/// The example's package and program, which `cargo xtask soak` runs too.
pub(crate) const PROGRAM: [&str; 4] = ["-p", "storefront-app", "--bin", "storefront-demo"];

/// Runs the example; its exit code is ours.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    resolve(&mut arguments, "--orders", &std::env::current_dir()?)?;
    let mut run = cargo("run");
    run.arg("--quiet").args(PROGRAM).arg("--").args(arguments);
    Ok(exit_code(Running::start(&mut run)?.wait()?))
}

/// A path is given from where the user stands, whatever folder the example runs in.
fn resolve(all: &mut Vec<String>, name: &str, folder: &Path) -> Result<(), String> {
    if let Some(path) = arguments::take_value(all, name)? {
        all.extend([name.to_owned(), folder.join(path).display().to_string()]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::resolve;

    fn resolved(line: &str) -> String {
        let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        resolve(&mut arguments, "--orders", Path::new("/here")).expect("a value");
        arguments.join(" ")
    }

    /// A relative path is taken from the user's folder, an absolute one stays, and other arguments are passed on.
    #[test]
    fn paths_are_the_users() {
        assert_eq!(resolved("--orders my.csv --json"), "--json --orders /here/my.csv");
        assert_eq!(resolved("--orders=/there/my.csv"), "--orders /there/my.csv");
        assert_eq!(resolved("--json"), "--json");
    }
}
