//! A machine without PostgreSQL gets one.

use crate::held::{Held, Home};
use crate::wire::ask;

/// With every local PostgreSQL hidden and an empty cache, one is fetched and started; the second time it is there.
#[test]
fn fetched_where_there_is_none() {
    let home = Home::new("obtain");
    let hide = |command: &mut std::process::Command| {
        command.env("OUTBOX_PG_HIDE", "1").env("OUTBOX_CACHE_DIR", home.0.join("cache"));
    };
    let first = Held::start(hide);
    assert_eq!(ask(&first.url, "select 1").expect("an answer"), "1");
    let without_installers = |command: &mut std::process::Command| {
        hide(command);
        command.env("PATH", "/nowhere");
    };
    let second = Held::start(without_installers);
    assert_eq!(ask(&second.url, "select 1").expect("an answer"), "1");
}
