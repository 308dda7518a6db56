//! A database that was given by URL.

use std::path::PathBuf;

use outbox_testing::server::{Options, Server, ServerError};

/// A server that is given by URL is carried as it is: nothing is started, and nothing of it is ours to stop.
#[test]
fn given_by_url_is_not_ours() {
    let mut server = Server::given("postgres://somebody@database.example/app");
    assert_eq!(server.url(), "postgres://somebody@database.example/app");
    assert_eq!((server.pid(), server.version()), (None, None));
    assert!(matches!(server.kill(), Err(ServerError::NotOurs)));
    assert!(matches!(server.restart(), Err(ServerError::NotOurs)));
}

/// A folder that is asked for by name and holds no PostgreSQL is an error that names it, not a reason to take another.
#[test]
fn named_folder_must_do() {
    let binaries = Some(PathBuf::from("/nowhere/bin"));
    let error = Server::start(&Options { binaries, ..Options::default() }).expect_err("nothing there");
    assert!(error.to_string().contains("`/nowhere/bin`"), "{error}");
}
