//! The exchange at connect: declared, or looked for.

use std::time::Duration;

use outbox_amqp::Amqp;
use outbox_amqp::lapin::ExchangeKind;
use outbox_amqp::lapin::options::ExchangeDeclareOptions;
use outbox_amqp::lapin::types::FieldTable;
use outbox_relay::contract::{Broker as _, PATIENCE};

use crate::server::Server;

async fn refused(amqp: &Amqp) -> String {
    let told = async {
        loop {
            if let Err(status) = amqp.ready(Duration::from_millis(50)).await
                && let Some(error) = status.last_error
            {
                return error;
            }
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("it is told")
}

/// A destination whose exchange is missing is not reachable, says why, and is when somebody has made it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_that_is_only_checked_is_waited_for() {
    let server = Server::shared().await;
    let amqp = server.builder(server.address()).check().connect().unwrap();
    let error = refused(&amqp).await;
    assert!(error.contains("NOT_FOUND") && error.contains(&server.exchange), "{error}");
    let declaring = server.builder(server.address()).declare().connect().unwrap();
    declaring.ready(PATIENCE).await.unwrap();
    amqp.ready(PATIENCE).await.unwrap();
}

/// An exchange of another kind would route otherwise than is thought.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_of_another_kind_is_refused() {
    let server = Server::shared().await;
    let connection = server.node().await.connection().await;
    let channel = connection.create_channel().await.unwrap();
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    let name = || server.exchange.as_str().into();
    channel.exchange_declare(name(), ExchangeKind::Fanout, options, FieldTable::default()).await.unwrap();
    let amqp = server.builder(server.address()).declare().connect().unwrap();
    assert!(refused(&amqp).await.contains("PRECONDITION_FAILED"));
}

/// Not in what is shown of it, nor in its errors, which say what to write instead.
#[tokio::test]
async fn credentials_are_not_shown() {
    let secret = "hunter2";
    let builder = Amqp::builder(format!("amqp://ann:{secret}@127.0.0.1:1/%2f"), "shop");
    assert!(!format!("{builder:?}").contains(secret));
    let amqp = builder.connect().unwrap();
    let error = refused(&amqp).await;
    assert!(!format!("{amqp:?} {error}").contains(secret));
    for odd in [format!("amqp://ann:{secret}@[::1"), format!("ann:{secret}@"), String::new()] {
        let error = Amqp::builder(odd, "shop").connect().unwrap_err();
        assert!(!format!("{error} {error:?}").contains(secret), "{error}");
        // A `main` that returns it prints this.
        assert!(format!("{error:?}").contains("write it like `amqp://"), "{error:?}");
    }
}
