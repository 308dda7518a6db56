//! Stopping, killing and restarting a server on the same data and URL.

use outbox_testing::server::{Options, Server};

use crate::wire::ask;

fn durable() -> Server {
    let server = Server::start(&Options { durable: true, ..Options::default() }).expect("a server");
    assert_eq!(ask(server.url(), "show fsync").expect("an answer"), "on");
    ask(server.url(), "create table kept as select 1 as number").expect("an answer");
    server
}

fn assert_kept(server: &Server) {
    assert_eq!(ask(server.url(), "select count(*) from kept").expect("an answer"), "1");
}

/// A stopped server does not answer, and after a restart it has its data and its URL.
#[test]
fn stop_then_restart() {
    let mut server = durable();
    server.stop().expect("stopped");
    assert_eq!(server.pid(), None);
    assert!(ask(server.url(), "select 1").is_err());
    server.restart().expect("restarted");
    assert_kept(&server);
}

/// After its postmaster is killed with SIGKILL, a durable server restarts with what was committed.
#[test]
fn kill_then_restart() {
    let mut server = durable();
    let before = server.pid();
    server.kill().expect("killed");
    server.restart().expect("restarted");
    assert_ne!(server.pid(), before);
    assert_kept(&server);
}

/// After an immediate shutdown, a durable server restarts with what was committed.
#[test]
fn immediate_then_restart() {
    let mut server = durable();
    server.immediate().expect("ended");
    assert_eq!(server.pid(), None);
    assert!(ask(server.url(), "select 1").is_err());
    server.restart().expect("restarted");
    assert_kept(&server);
}

/// A running server can be restarted as it is.
#[test]
fn restart_while_running() {
    let mut server = durable();
    let before = server.pid();
    server.restart().expect("restarted");
    assert_ne!(server.pid(), before);
    assert_kept(&server);
}
