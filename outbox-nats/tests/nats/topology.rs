//! The stream at connect: declared, or looked for.

use std::time::Duration;

use outbox_nats::async_nats::ConnectOptions;
use outbox_nats::async_nats::jetstream::stream::Config;
use outbox_relay::contract::{Broker as _, PATIENCE};

use crate::server::{STREAM, Server, stream};

/// What is there is left as it is.
#[tokio::test]
async fn a_stream_is_declared_where_it_is_missing() {
    let server = Server::start().await;
    let nats = server.builder().declare(stream(&["contract.>"])).connect().await.unwrap();
    nats.ready(PATIENCE).await.unwrap();
    let other = server.builder().declare(stream(&["other.>"])).connect().await.unwrap();
    other.ready(PATIENCE).await.unwrap();
    let found = server.jetstream().await.get_stream(STREAM).await.unwrap();
    assert_eq!(found.cached_info().config.subjects, ["contract.>"]);
}

/// A destination whose stream is missing is not reachable, says why, and is when somebody has made it.
#[tokio::test]
async fn a_stream_that_is_only_checked_is_waited_for() {
    let server = Server::start().await;
    let nats = server.builder().check(STREAM).connect().await.unwrap();
    let status = outbox_testing::eventually("the stream is missed", async || {
        let status = nats.ready(Duration::from_millis(50)).await.unwrap_err();
        status.last_error.is_some().then_some(status)
    })
    .await;
    let error = status.last_error.unwrap();
    assert!(error.starts_with("the stream `CONTRACT`: "), "{error}");
    server.jetstream().await.create_stream(stream(&["contract.>"])).await.unwrap();
    nats.ready(PATIENCE).await.unwrap();
}

/// A stream that acknowledges nothing would leave every event unconfirmed for ever.
#[tokio::test]
async fn a_stream_without_acknowledgements_is_refused() {
    let server = Server::start().await;
    server.jetstream().await.create_stream(Config { no_ack: true, ..stream(&["contract.>"]) }).await.unwrap();
    let nats = server.builder().check(STREAM).connect().await.unwrap();
    let error = outbox_testing::eventually("it is refused", async || {
        nats.ready(Duration::from_millis(50)).await.unwrap_err().last_error
    })
    .await;
    assert!(error.contains("`no_ack`"), "{error}");
}

/// Not in what is shown of it, nor in its errors.
#[tokio::test]
async fn credentials_are_not_shown() {
    let secret = "hunter2";
    let client = ConnectOptions::with_user_and_password("ann".to_owned(), secret.to_owned());
    let builder = outbox_nats::Nats::builder(format!("nats://ann:{secret}@127.0.0.1:1")).client(client);
    assert!(!format!("{builder:?}").contains(secret));
    let nats = builder.connect().await.unwrap();
    let status = nats.ready(Duration::from_millis(300)).await.unwrap_err();
    assert!(!format!("{nats:?} {status:?}").contains(secret));
    for odd in [format!("nats://ann:{secret}@[::1"), format!("ann:{secret}@:::")] {
        let error = outbox_nats::Nats::builder(odd).connect().await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(secret), "{error}");
    }
}
