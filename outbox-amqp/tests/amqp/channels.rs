//! Many messages at once on few channels: each has the broker's answer to itself.
//!
//! The runtime has one thread, so that messages which are published together wait together before the first is taken, and go as one group.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use futures_util::poll;
use outbox_amqp::Amqp;
use outbox_amqp::lapin::options::{ExchangeDeleteOptions, QueueBindOptions, QueueDeclareOptions};
use outbox_amqp::lapin::types::FieldTable;
use outbox_relay::contract::{Broker, ELSEWHERE, PATIENCE, PREFIX, Proxy, message_to};
use outbox_relay::{Confirmed, NotConfirmed, Outgoing, Transport as _};
use tokio::task::unconstrained;
use tokio::time::{sleep, timeout};

use crate::node::url;
use crate::server::Server;

type Answer = Result<Confirmed, NotConfirmed>;

/// Of one channel, so that what is published together is in one group, and what comes next waits for it.
async fn narrow(server: &Server) -> Amqp {
    let amqp = server.builder(server.address()).queue(&server.queue, ["contract.#"]).channels(1).connect().unwrap();
    amqp.ready(PATIENCE).await.unwrap();
    amqp
}

fn messages(prefixes: impl IntoIterator<Item = &'static str>) -> Vec<Outgoing> {
    prefixes.into_iter().map(|prefix| message_to(prefix, "{}")).collect()
}

/// All of them before the first is taken.
async fn publish(amqp: &Amqp, messages: &[Outgoing]) -> Vec<Answer> {
    let publishing = join_all(messages.iter().map(|message| amqp.publish(message)));
    timeout(PATIENCE, unconstrained(publishing)).await.expect("each has an answer")
}

async fn times(server: &Server) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for stored in server.stored().await {
        *times.entry(stored.id).or_default() += 1;
    }
    times
}

/// A message that no queue takes fails by itself: its neighbours are stored, once.
#[tokio::test]
async fn one_that_is_returned_fails_none_of_its_group() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let messages = messages((0..24).map(|n| if n % 5 == 2 { ELSEWHERE } else { PREFIX }));
    let answers = publish(&amqp, &messages).await;
    let stored = times(&server).await;
    for (message, answer) in messages.iter().zip(&answers) {
        let is_routed = message.route().starts_with(PREFIX);
        assert_eq!(stored.get(message.id_text()), is_routed.then_some(&1), "{message:?}: {answer:?}");
        match answer {
            Ok(_) => assert!(is_routed, "{message:?}"),
            Err(NotConfirmed::Unroutable { route, reason }) => {
                assert!(!is_routed && route == message.route() && reason.contains("NO_ROUTE"), "{message:?}: {reason}");
            }
            Err(other) => panic!("{message:?}: {other}"),
        }
    }
}

/// A queue that rejects what is beyond its room refuses one, and not what others take.
#[tokio::test]
async fn one_that_is_refused_fails_none_of_its_group() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let queue = server.narrow_queue("narrow.#").await;
    let messages = messages([PREFIX, "narrow", PREFIX, "narrow", PREFIX, ELSEWHERE]);
    assert_eq!(publish(&amqp, &messages[1..2]).await, [Ok(Confirmed::new())]);
    let answers = publish(&amqp, &messages).await;
    for (place, answer) in answers.iter().enumerate() {
        let is_right = match place {
            1 | 3 => matches!(answer, Err(NotConfirmed::Refused(_))),
            5 => matches!(answer, Err(NotConfirmed::Unroutable { .. })),
            _ => answer.is_ok(),
        };
        assert!(is_right, "{place}: {answer:?}");
    }
    assert_eq!(server.take(&queue).await, [messages[1].id_text()]);
    assert_eq!(times(&server).await.len(), 3);
}

/// The broker closes the channel for a message that may not be published there, and tells of no other. Each of the group is tried by itself
/// then, so that only the one is refused; the connection stays.
#[tokio::test]
async fn one_that_breaks_the_channel_fails_none_of_its_group() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let allow = format!(
        "rabbit_auth_backend_internal:set_topic_permissions(<<\"guest\">>, <<\"/\">>, <<\"{}\">>, <<\"^contract\">>, <<\".*\">>, <<\"test\">>).",
        server.exchange
    );
    server.node().await.0.evaluate(&allow).await;
    let messages = messages([PREFIX, PREFIX, "forbidden", PREFIX, "forbidden", PREFIX]);
    let answers = publish(&amqp, &messages).await;
    let stored = times(&server).await;
    for (message, answer) in messages.iter().zip(&answers) {
        let times = stored.get(message.id_text()).copied().unwrap_or_default();
        if message.route().starts_with(PREFIX) {
            assert!(answer.is_ok() && (1..=2).contains(&times), "{message:?}: {answer:?}, stored {times} times");
        } else {
            assert!(matches!(answer, Err(NotConfirmed::Refused(_))) && times == 0, "{message:?}: {answer:?}");
        }
    }
    assert_eq!(amqp.link().status().losses, 0);
}

/// The one that is too large for the broker is in nobody's group.
#[tokio::test]
async fn one_that_is_too_large_has_nobody_sent_twice() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let mut messages = messages([PREFIX; 8]);
    let large = message_to(PREFIX, &format!("\"{}\"", "x".repeat(server.too_large())));
    let id = large.id_text().to_owned();
    messages.insert(4, large);
    let answers = publish(&amqp, &messages).await;
    assert!(matches!(answers[4], Err(NotConfirmed::Unsendable(_))), "{:?}", answers[4]);
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 8, "{answers:?}");
    let stored = times(&server).await;
    assert!(stored.len() == 8 && !stored.contains_key(&id) && stored.values().all(|times| *times == 1), "{stored:?}");
    assert_eq!(amqp.link().status().losses, 0);
}

/// The exchange is deleted while they are on their way: that is charged to no message. It is made anew, and they arrive.
#[tokio::test]
async fn an_exchange_that_is_deleted_is_nobody_s_fault() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let messages = messages([PREFIX; 6]);
    let connection = server.node().await.connection().await;
    let channel = connection.create_channel().await.unwrap();
    channel.exchange_delete(server.exchange.as_str().into(), ExchangeDeleteOptions::default()).await.unwrap();
    let answers = publish(&amqp, &messages).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(NotConfirmed::Unreachable(_)))), "{answers:?}");
    timeout(PATIENCE, amqp.link().down()).await.expect("everything is looked at anew");
    timeout(PATIENCE, amqp.link().up()).await.expect("the exchange is made");
    assert!(publish(&amqp, &messages).await.iter().all(Result::is_ok));
    assert_eq!(times(&server).await.len(), 6);
}

/// A replay publishes an event while it is under way already: both have an answer of their own, stored or not.
#[tokio::test]
async fn two_under_one_id_have_an_answer_each() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let (once, lost) = (message_to(PREFIX, "{}"), message_to(ELSEWHERE, "{}"));
    let answers = publish(&amqp, &[once.clone(), lost.clone(), once.clone(), lost]).await;
    assert_eq!((&answers[0], &answers[2]), (&Ok(Confirmed::new()), &Ok(Confirmed::new())));
    for answer in [&answers[1], &answers[3]] {
        assert!(matches!(answer, Err(NotConfirmed::Unroutable { .. })), "{answer:?}");
    }
    assert_eq!(times(&server).await, BTreeMap::from([(once.id_text().to_owned(), 2)]));
}

/// A queue that says nothing keeps its own message waiting, and neither the rest of the group nor, when nobody waits for it any more, whoever
/// comes behind.
#[tokio::test]
async fn a_queue_that_is_silent_keeps_no_neighbour_waiting() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let silent = server.silent_queue("silent.#").await;
    let messages = messages(["silent", PREFIX, PREFIX, PREFIX, PREFIX]);
    let behind = message_to(PREFIX, "{}");
    {
        let mut waiting = std::pin::pin!(amqp.publish(&messages[0]));
        assert!(poll!(waiting.as_mut()).is_pending());
        let answers = publish(&amqp, &messages[1..]).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert!(poll!(waiting.as_mut()).is_pending(), "nobody confirmed it");
    }
    // The one channel is given up, and another is opened.
    assert_eq!(publish(&amqp, &[behind]).await, [Ok(Confirmed::new())]);
    assert_eq!(amqp.link().status().losses, 0);
    server.speak(&silent).await;
    assert_eq!(publish(&amqp, &messages[..1]).await, [Ok(Confirmed::new())]);
}

/// Whoever waits for it no more will publish it again: out of the queue it is not sent.
#[tokio::test]
async fn what_was_given_up_while_it_waited_is_not_sent() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let messages = messages([PREFIX; 3]);
    {
        let mut given_up = std::pin::pin!(amqp.publish(&messages[1]));
        assert!(poll!(given_up.as_mut()).is_pending());
    }
    assert_eq!(publish(&amqp, &messages[2..]).await, [Ok(Confirmed::new())]);
    assert_eq!(times(&server).await, BTreeMap::from([(messages[2].id_text().to_owned(), 1)]));
}

/// The connection is lost with a group under way and more behind it, and no confirm came: all of them are told at once, and by the loss, not
/// by a time.
#[tokio::test]
async fn nobody_waits_for_a_session_that_is_over() {
    let server = Server::shared().await;
    let proxy = Proxy::to(server.address()).await;
    let amqp = server.builder(proxy.address()).queue(&server.queue, ["contract.#"]).channels(1).connect().unwrap();
    amqp.ready(PATIENCE).await.unwrap();
    let messages = messages([PREFIX; 80]);
    publish(&amqp, &messages[..1]).await[0].as_ref().expect("it is confirmed");
    proxy.swallow_answers(true);
    let stored = async {
        // Those of the first group.
        while times(&server).await.len() < 2 {
            sleep(std::time::Duration::from_millis(20)).await;
        }
        proxy.cut();
    };
    let (answers, ()) = tokio::join!(publish(&amqp, &messages[1..]), stored);
    assert!(answers.iter().all(|answer| matches!(answer, Err(NotConfirmed::Unreachable(_)))), "{answers:?}");
    proxy.swallow_answers(false);
    timeout(PATIENCE, amqp.link().up()).await.expect("it connects again");
    assert!(publish(&amqp, &messages).await.iter().all(Result::is_ok));
}

/// A transport that is dropped in the middle of a group leaves nothing that runs.
#[tokio::test]
async fn lanes_end_with_their_transport() {
    let server = Server::shared().await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let amqp = narrow(&server).await;
    let silent = server.silent_queue("silent.#").await;
    let messages = messages([PREFIX, "silent", "silent"]);
    {
        let mut waiting = std::pin::pin!(publish(&amqp, &messages[1..]));
        assert!(poll!(waiting.as_mut()).is_pending());
        assert_eq!(publish(&amqp, &messages[..1]).await, [Ok(Confirmed::new())]);
        assert!(tasks() > before);
    }
    drop(amqp);
    let ended = async {
        while tasks() > before {
            sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, ended).await.expect("all of its tasks end");
    server.speak(&silent).await;
}

/// A thousand at once, on the one channel that there may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_channel_is_enough() {
    let server = Server::shared().await;
    let amqp = narrow(&server).await;
    let messages = messages((0..1_000).map(|n| if n % 7 == 3 { ELSEWHERE } else { PREFIX }));
    let answers = publish(&amqp, &messages).await;
    let stored = times(&server).await;
    for (message, answer) in messages.iter().zip(&answers) {
        let is_routed = message.route().starts_with(PREFIX);
        assert_eq!((answer.is_ok(), stored.get(message.id_text())), (is_routed, is_routed.then_some(&1)), "{answer:?}");
    }
}

/// Fewer channels are allowed than are used at once: messages wait for one that is free, and the connection stays.
#[tokio::test]
async fn few_channels_are_shared() {
    let server = Server::shared().await;
    let url = format!("{}?channel_max=4", url(server.address()));
    let amqp = Amqp::builder(url, &server.exchange).queue(&server.queue, ["contract.#"]).connect().unwrap();
    amqp.ready(PATIENCE).await.unwrap();
    // So large that each goes by itself.
    let payload = format!("\"{}\"", "x".repeat(70_000));
    let messages: Vec<_> = (0..12).map(|_| message_to(PREFIX, &payload)).collect();
    let answers = publish(&amqp, &messages).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!((times(&server).await.len(), amqp.link().status().losses), (12, 0));
}

impl Server {
    /// A queue whose process stands still: it confirms nothing.
    async fn silent_queue(&self, pattern: &str) -> String {
        let name = format!("silent.{}", self.queue);
        let connection = self.node().await.connection().await;
        let channel = connection.create_channel().await.unwrap();
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(name.as_str().into(), options, FieldTable::default()).await.unwrap();
        let (queue, exchange) = (name.as_str().into(), self.exchange.as_str().into());
        let options = QueueBindOptions::default();
        channel.queue_bind(queue, exchange, pattern.into(), options, FieldTable::default()).await.unwrap();
        self.have_queue(&name, "suspend").await;
        name
    }

    /// It goes on.
    async fn speak(&self, silent: &str) {
        self.have_queue(silent, "resume").await;
    }

    async fn have_queue(&self, name: &str, what: &str) {
        let ask = format!(
            "{{ok, Q}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"{name}\">>)), sys:{what}(amqqueue:get_pid(Q))."
        );
        assert_eq!(self.node().await.0.evaluate(&ask).await, "ok");
    }
}
