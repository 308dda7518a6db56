//! A server starts for whoever runs the test, and leaves nothing behind.

use std::os::unix::fs::MetadataExt;

use outbox_testing::server::{Options, Server};

use crate::held::{Held, Home};
use crate::wire::ask;

fn we_are_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A server starts, answers, says its version, and its settings are those that were asked for.
#[test]
fn answers_with_the_settings_asked_for() {
    let settings = vec![("max_connections".to_owned(), "23".to_owned())];
    let server = Server::start(&Options { settings, ..Options::default() }).expect("a server");
    let version = ask(server.url(), "show server_version").expect("an answer");
    assert!(version.starts_with(server.version().expect("our own")));
    assert_eq!(ask(server.url(), "show max_connections").expect("an answer"), "23");
    assert_eq!(ask(server.url(), "show fsync").expect("an answer"), "off");
    assert_eq!(ask(server.url(), "show timezone").expect("an answer"), "UTC");
}

/// A major version that was asked for is the one that starts; one that the engine does not run on is refused by name.
#[test]
fn a_version_asked_for_is_the_one_that_starts() {
    let any = Server::start(&Options::default()).expect("a server");
    let major = any.version().and_then(|version| version.split('.').next()?.parse().ok()).expect("a version");
    let same = Server::start(&Options { major: Some(major), ..Options::default() }).expect("a server");
    assert!(same.version().is_some_and(|version| version.starts_with(&major.to_string())));
    let refusal = Server::start(&Options { major: Some(13), ..Options::default() }).expect_err("too old");
    assert!(refusal.to_string().contains("`13` is no major version"), "{refusal}");
}

/// Started by root, the server runs as an unprivileged account; started by anybody else, as that one.
#[test]
fn runs_unprivileged_also_for_root() {
    let server = Server::start(&Options::default()).expect("a server");
    let owner = std::fs::metadata(server.data_folder().expect("our own")).expect("there").uid();
    if we_are_root() {
        assert_ne!(owner, 0);
    } else {
        assert_eq!(owner, rustix::process::geteuid().as_raw());
    }
    assert_eq!(ask(server.url(), "select 1").expect("an answer"), "1");
}

/// A server starts for an unprivileged user with an empty home: `nobody` when the test runs as root, else whoever runs
/// it.
#[test]
fn starts_for_an_unprivileged_user() {
    let home = Home::new("unprivileged");
    let held = if we_are_root() {
        Held::start_as_nobody(&home.0)
    } else {
        Held::start(|command| {
            command.env("OUTBOX_CACHE_DIR", home.0.join("cache"));
        })
    };
    let owner = std::fs::metadata(&held.data).expect("there").uid();
    assert_ne!(owner, 0);
    assert_eq!(ask(&held.url, "select 1").expect("an answer"), "1");
}

/// Two servers at the same time do not meet.
#[test]
fn two_at_once() {
    let first = Server::start(&Options::default()).expect("a server");
    let second = Server::start(&Options::default()).expect("a server");
    assert_ne!(first.url(), second.url());
    ask(first.url(), "create table only_here ()").expect("an answer");
    let elsewhere = ask(second.url(), "select count(*) from pg_class where relname = 'only_here'");
    assert_eq!(elsewhere.expect("an answer"), "0");
}

/// Dropping the handle stops the server and removes its folder.
#[test]
fn nothing_is_left_after_drop() {
    let server = Server::start(&Options::default()).expect("a server");
    let url = server.url().to_owned();
    let data = server.data_folder().expect("our own");
    drop(server);
    assert!(ask(&url, "select 1").is_err());
    assert!(!data.parent().expect("the server's folder").exists());
}
