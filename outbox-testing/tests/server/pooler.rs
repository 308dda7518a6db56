//! A PgBouncer in transaction mode in front of a server.

use outbox_testing::server::{Options, Pooler, Server};

use crate::wire::ask;

/// What is asked through it reaches the server behind it, in any of its databases.
#[test]
fn leads_to_every_database_of_the_server() {
    let server = Server::start(&Options::default()).expect("a server");
    let pooler = Pooler::start(&server).expect("a pooler");
    ask(server.url(), "create database shop").expect("made");
    let shop = pooler.url().replace("/postgres", "/shop");
    assert_eq!(ask(&shop, "select current_database()").expect("an answer"), "shop");
    assert_ne!(server.url(), pooler.url());
}

/// A session is lent for one transaction: what is set in it stays behind for whoever comes next.
#[test]
fn lends_a_session_for_one_transaction() {
    let server = Server::start(&Options::default()).expect("a server");
    let pooler = Pooler::start(&server).expect("a pooler");
    ask(pooler.url(), "set work_mem = '1234kB'").expect("set");
    assert_eq!(ask(pooler.url(), "show work_mem").expect("an answer"), "1234kB");
}

/// It ends with its handle, and lets the server live.
#[test]
fn ends_with_its_handle() {
    let server = Server::start(&Options::default()).expect("a server");
    let pooler = Pooler::start(&server).expect("a pooler");
    let url = pooler.url().to_owned();
    drop(pooler);
    assert!(ask(&url, "select 1").is_err());
    assert_eq!(ask(server.url(), "select 1").expect("an answer"), "1");
}

/// A server that cannot be reached through a URL is refused before anything starts.
#[test]
fn an_address_that_is_none_is_refused() {
    let error = Pooler::before("no address").expect_err("refused");
    assert!(error.to_string().contains("URL"), "{error}");
}
