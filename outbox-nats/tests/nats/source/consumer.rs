//! The consumer at connect: declared, or looked for; and one that would lose messages is refused.

use std::time::Duration;

use outbox_ingest::contract::Origin as _;
use outbox_nats::NatsSource;
use outbox_nats::async_nats::jetstream::consumer::{AckPolicy, pull};
use outbox_relay::contract::PATIENCE;

use super::origin::{DURABLE, Origin};
use crate::server::STREAM;

async fn refusal(source: &NatsSource, words: &str) -> String {
    outbox_testing::eventually("it is refused", async || {
        let status = source.ready(Duration::from_millis(50)).await.unwrap_err();
        status.last_error.filter(|error| error.contains(words))
    })
    .await
}

async fn make(origin: &Origin, config: pull::Config) {
    let stream = origin.0.jetstream().await.get_stream(STREAM).await.unwrap();
    stream.create_consumer(pull::Config { durable_name: Some(DURABLE.to_owned()), ..config }).await.unwrap();
}

fn checked(origin: &Origin) -> outbox_nats::NatsSourceBuilder {
    NatsSource::builder(format!("nats://{}", origin.address()), STREAM, DURABLE)
}

/// Declared, it is there, and has each message acknowledged by itself, whatever was said; one that is there stays as it is.
#[tokio::test]
async fn a_consumer_is_declared_where_it_is_missing() {
    let origin = Origin::start().await;
    for wait in [7, 9] {
        let said = pull::Config {
            ack_wait: Duration::from_secs(wait),
            ack_policy: AckPolicy::None,
            ..pull::Config::default()
        };
        let source = checked(&origin).declare(said).connect().await.unwrap();
        source.ready(PATIENCE).await.unwrap();
        let consumer = origin.consumer().await;
        let config = &consumer.cached_info().config;
        assert_eq!((config.ack_policy, config.ack_wait), (AckPolicy::Explicit, Duration::from_secs(7)));
    }
}

/// Only checked, it is waited for.
#[tokio::test]
async fn a_consumer_that_is_only_checked_is_waited_for() {
    let origin = Origin::start().await;
    let source = checked(&origin).connect().await.unwrap();
    let error = refusal(&source, "consumer").await;
    assert!(error.starts_with("the consumer `billing` of the stream `CONTRACT`: "), "{error}");
    make(&origin, pull::Config { ack_policy: AckPolicy::Explicit, ..pull::Config::default() }).await;
    source.ready(PATIENCE).await.unwrap();
}

/// One that takes messages for done before they are stored, or gives them up after some deliveries, is not consumed from.
#[tokio::test]
async fn a_consumer_that_would_lose_messages_is_refused() {
    let origin = Origin::start().await;
    make(&origin, pull::Config { ack_policy: AckPolicy::All, ..pull::Config::default() }).await;
    let source = checked(&origin).connect().await.unwrap();
    refusal(&source, "`ack_policy` must be explicit").await;
    let stream = origin.0.jetstream().await.get_stream(STREAM).await.unwrap();
    stream.delete_consumer(DURABLE).await.unwrap();
    make(&origin, pull::Config { ack_policy: AckPolicy::Explicit, max_deliver: 5, ..pull::Config::default() }).await;
    refusal(&source, "gives a message up after 5 deliveries").await;
    stream.delete_consumer(DURABLE).await.unwrap();
    make(&origin, pull::Config { ack_policy: AckPolicy::Explicit, ..pull::Config::default() }).await;
    source.ready(PATIENCE).await.unwrap();
}

/// A consumer that somebody deletes is told of, and one that is declared is made again.
#[tokio::test]
async fn a_consumer_that_is_deleted_is_made_again() {
    let origin = Origin::start().await;
    let source = origin.source(origin.address()).await;
    source.ready(PATIENCE).await.unwrap();
    let stream = origin.0.jetstream().await.get_stream(STREAM).await.unwrap();
    stream.delete_consumer(DURABLE).await.unwrap();
    let link = outbox_ingest::Source::link(&source);
    tokio::time::timeout(PATIENCE, link.down()).await.expect("its loss is noticed");
    source.ready(PATIENCE).await.unwrap();
    assert!(stream.consumer_info(DURABLE).await.is_ok());
}

/// Not in what is shown of it, nor in its errors.
#[tokio::test]
async fn credentials_are_not_shown() {
    let secret = "hunter2";
    let builder = NatsSource::builder(format!("nats://ann:{secret}@127.0.0.1:1"), STREAM, DURABLE);
    assert!(!format!("{builder:?}").contains(secret));
    let source = builder.connect().await.unwrap();
    let status = source.ready(Duration::from_millis(300)).await.unwrap_err();
    assert!(!format!("{source:?} {status:?}").contains(secret));
}
