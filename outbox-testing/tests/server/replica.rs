//! A replica follows, and takes over.

use outbox_testing::server::{Options, Replication, Server, ServerError};

use crate::held::eventually;
use crate::wire::ask;

/// A synchronous replica has everything that was answered as committed, whatever happens to the primary; once promoted, it
/// takes writes, and it is a server like any other.
#[test]
fn promotion_loses_nothing_that_was_answered() {
    let mut primary = Server::start(&Options::default()).expect("a server");
    ask(primary.url(), "create table kept (number int)").expect("an answer");
    let mut replica = primary.replica(Replication::Synchronous).expect("a replica");
    for number in 0..50 {
        ask(primary.url(), &format!("insert into kept values ({number})")).expect("an answer");
    }
    assert!(ask(replica.url(), "insert into kept values (50)").is_err(), "a replica does not write");
    primary.kill().expect("killed");
    replica.promote().expect("promoted");
    assert_eq!(ask(replica.url(), "select count(*) from kept").expect("an answer"), "50");
    ask(replica.url(), "insert into kept values (50)").expect("it writes now");
    replica.restart().expect("restarted");
    assert_eq!(ask(replica.url(), "select count(*) from kept").expect("an answer"), "51");
}

/// An asynchronous replica follows; the primary does not wait for it, not even when it is gone.
#[test]
fn nobody_waits_for_an_asynchronous_replica() {
    let mut primary = Server::start(&Options::default()).expect("a server");
    let mut replica = primary.replica(Replication::Asynchronous).expect("a replica");
    ask(primary.url(), "create table kept as select 1 as number").expect("an answer");
    eventually("the replica has the table", || {
        ask(replica.url(), "select count(*) from kept").is_ok_and(|count| count == "1")
    });
    replica.stop().expect("stopped");
    ask(primary.url(), "insert into kept values (2)").expect("an answer");
}

/// Only what follows can take over.
#[test]
fn a_primary_cannot_be_promoted() {
    let mut server = Server::start(&Options::default()).expect("a server");
    assert!(matches!(server.promote(), Err(ServerError::NoReplica)));
    assert!(matches!(Server::given("postgres://elsewhere").promote(), Err(ServerError::NotOurs)));
}
