//! Receivers that do not do what they should.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use outbox_webhooks::{Delivery, DeliveryStatus, NewEndpoint, Resolve};

use crate::floor::Floor;
use crate::receiver::{Receiver, Reply};

const SHORT: Duration = Duration::from_secs(2);

/// What one delivery to a receiver that answers so comes to, where a call may take this long.
async fn delivered(reply: Reply, timeout: Duration) -> (Delivery, String) {
    let floor = Floor::with(|webhooks| webhooks.timeout(timeout)).await;
    let receiver = Receiver::answering([reply]).await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    assert_eq!(receiver.requests().len(), 1);
    let delivery = floor.only(event).await;
    let attempts = floor.attempts(&delivery).await;
    assert!(attempts[0].ended_at.is_some());
    (delivery, attempts[0].answer.clone().unwrap_or_default())
}

#[tokio::test]
async fn one_that_never_answers_is_given_up_in_time() {
    for reply in [Reply::Never, Reply::Drip] {
        let (delivery, _) = delivered(reply.clone(), SHORT).await;
        assert_eq!((delivery.status, delivery.last_status), (DeliveryStatus::Pending, None), "{reply:?}");
        assert_eq!(delivery.last_error.as_deref(), Some("no answer within 2s"));
    }
}

/// The status is the answer: what becomes of the body changes nothing of it.
#[tokio::test]
async fn one_that_breaks_off_in_mid_body_has_answered() {
    let (delivery, answer) = delivered(Reply::Cut(200), crate::floor::TIMEOUT).await;
    assert_eq!((delivery.status, answer.as_str()), (DeliveryStatus::Delivered, "the beginning"));
    let (delivery, answer) = delivered(Reply::Cut(500), crate::floor::TIMEOUT).await;
    assert_eq!((delivery.status, delivery.last_status), (DeliveryStatus::Pending, Some(500)));
    assert_eq!(answer, "the beginning");
}

/// Not even one that takes its time behind the status, beyond the time of the whole call.
#[tokio::test]
async fn one_that_stalls_in_mid_body_has_answered() {
    let (delivery, answer) = delivered(Reply::Stall(200), SHORT).await;
    assert_eq!((delivery.status, answer.as_str()), (DeliveryStatus::Delivered, "the beginning"));
}

/// Ten gigabytes are promised: a kilobyte is kept, and no more is taken than lies in the system's buffers.
#[tokio::test]
async fn one_that_never_stops_is_not_listened_to() {
    for (status, expected) in [(200, DeliveryStatus::Delivered), (500, DeliveryStatus::Pending)] {
        let floor = Floor::new().await;
        let receiver = Receiver::answering([Reply::Endless(status)]).await;
        floor.endpoint(&receiver).await;
        let event = floor.issue().await;
        floor.drain().await;
        let delivery = floor.only(event).await;
        assert_eq!(delivery.status, expected);
        assert_eq!(floor.attempts(&delivery).await[0].answer.as_deref(), Some(&*"x".repeat(1_024)));
        assert!(receiver.sent() < 32 << 20, "{} bytes were taken", receiver.sent());
    }
}

#[tokio::test]
async fn one_that_does_not_speak_http_is_a_failure_like_any_other() {
    let long_head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(200_000));
    for text in [
        "",
        "SSH-2.0-OpenSSH_9.2p1\r\n",
        "HTTP/1.1 9999 No\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        &long_head,
    ] {
        let (delivery, _) = delivered(Reply::Raw(text.to_owned()), crate::floor::TIMEOUT).await;
        assert_eq!((delivery.status, delivery.last_status), (DeliveryStatus::Pending, None), "{delivery:#?}");
        let error = delivery.last_error.unwrap();
        assert!(error.starts_with("the connection failed before there was an answer: "), "{error}");
    }
}

/// What a stranger answers is kept as text that a database and a terminal can take.
#[tokio::test]
async fn odd_bytes_of_an_answer_are_kept_harmless() {
    let odd = "HTTP/1.1 200 OK\r\n\r\na\u{0}b\u{1b}[31mc\r\nd\u{e9}";
    let (delivery, answer) = delivered(Reply::Raw(odd.to_owned()), crate::floor::TIMEOUT).await;
    assert_eq!(delivery.status, DeliveryStatus::Delivered);
    assert_eq!(answer, "a\u{fffd}b\u{fffd}[31mc\u{fffd}\nd\u{e9}");
}

#[tokio::test]
async fn one_that_is_not_there_is_a_failure_like_any_other() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    floor.endpoint(&receiver).await;
    let address = receiver.address;
    drop(receiver);
    let event = floor.issue().await;
    floor.drain().await;
    let error = floor.only(event).await.last_error.unwrap();
    assert!(error.starts_with(&format!("no connection to {address}: ")), "{error}");
}

/// A name server that does not answer.
#[derive(Debug)]
struct Silent;

impl Resolve for Silent {
    fn resolve<'a>(&'a self, _: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_name_server_that_does_not_answer_is_given_up_in_time() {
    let floor = Floor::with(|webhooks| webhooks.resolver(Silent).connect_timeout(SHORT)).await;
    floor.create(NewEndpoint::new("acme", "http://receiver.example:8080/")).await;
    let event = floor.issue().await;
    floor.drain().await;
    assert_eq!(floor.only(event).await.last_error.as_deref(), Some("no connection within 2s"));
}

/// S1-60, the part of webhooks: while every slot of deliveries waits for a receiver that does not answer, publishers commit, and other
/// jobs run. Nobody has been answered when all of it is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_does_not_answer_blocks_neither_publishers_nor_other_handlers() {
    let floor = Floor::with(|webhooks| webhooks.timeout(Duration::from_secs(30))).await;
    let receiver = Receiver::answering([Reply::Never]).await;
    floor.endpoint(&receiver).await;
    for _ in 0..12 {
        floor.issue().await;
    }
    let outbox = floor.outbox.clone();
    let worker = tokio::spawn(async move { outbox.run(std::future::pending()).await });
    receiver.until(8).await;
    let late = floor.issue().await;
    outbox_testing::eventually("the late event is fanned out", async || {
        (floor.deliveries(late).await.len() == 1).then_some(())
    })
    .await;
    assert_eq!(receiver.requests().len(), 8);
    let ended = "select count(*) from :schema.webhook_attempt where ended_at is not null";
    assert_eq!(floor.sandbox.number(ended).await, 0);
    worker.abort();
}

/// One that is slow has two calls at once; what waits behind them lets the others pass, and is charged nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_does_not_answer_does_not_keep_the_others_waiting() {
    let floor = Floor::with(|webhooks| webhooks.timeout(Duration::from_secs(2))).await;
    let (dead, well) = (Receiver::answering([Reply::Never]).await, Receiver::new().await);
    floor.endpoint(&dead).await;
    floor.create(NewEndpoint::new("well", well.url())).await;
    floor.issue().await;
    floor.drain().await;
    for _ in 0..30 {
        floor.issue().await;
    }
    // All of them are due before the one that goes elsewhere.
    floor.publish_in(outbox::Metadata::new().tenant("well"), &crate::floor::issue()).await;
    let outbox = floor.outbox.clone();
    let worker = tokio::spawn(async move { outbox.run(std::future::pending()).await });
    outbox_testing::eventually("all others have stepped back", async || {
        let open = "select count(*) from :schema.webhook_attempt where ended_at is null";
        assert!(floor.sandbox.number(open).await <= 3, "two to the dead one, one to the other");
        let back = "select count(*) from :schema.job_live where job_type = 'webhooks.deliver' and status = 'pending'
                    and attempts = 0 and available_at > now() + interval '5 s'";
        (floor.sandbox.number(back).await >= 20).then_some(())
    })
    .await;
    well.until(1).await;
    worker.abort();
}
