//! The database goes away, or the feed's connection does: nothing is shown twice, and nothing is lost without a word.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox::{Missed, Outbox};
use outbox_testing::server::{Options, Server};
use outbox_testing::{Logs, Sandbox, eventually};
use sqlx::PgPool;

use super::watch::{Item, asked, next, onlooker, watch};
use crate::floor::{Floor, ask};
use crate::linkage::only_events;
use crate::proxy;
use crate::support::skipped_behind_a_pooler;

/// S1-9, B10: the connections that read and listen are terminated again and again while others publish: every event is shown, and
/// none twice.
#[tokio::test]
async fn terminated_connections_lose_nothing() {
    if skipped_behind_a_pooler("behind a pooler no connection of the server's is the feed's own") {
        return;
    }
    // A database of its own, so that it ends no connections of other tests.
    let sandbox = Sandbox::database().await;
    let build = async || sandbox.outbox().registry(only_events()).build().await.unwrap();
    let (outbox, elsewhere) = (build().await, build().await);
    let mut stream = watch(&outbox, "work.*").await;
    let mut published = BTreeSet::new();
    let terminate = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                     where datname = current_database() and (application_name like 'outbox live%' or query like '-- live%')";
    let mut terminated = 0;
    for n in 0..60 {
        published.insert(ask(&elsewhere, &format!("n{n}"), []).await);
        if n % 10 == 5 {
            terminated += sandbox.number(terminate).await;
        }
    }
    assert!(terminated > 0);
    let mut seen = BTreeSet::new();
    while seen.len() < published.len() {
        let item = next(&mut stream).await;
        let Item::Event(event) = item else { panic!("{item:?}") };
        assert!(seen.insert(event), "shown twice");
    }
    assert_eq!(seen, published);
}

/// S1-40: an answer that is lost on its way is asked for again, and what it held is shown once.
#[tokio::test]
async fn a_lost_answer_is_asked_for_again() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &[]).build().await.unwrap();
    let elsewhere = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.*").await;
    let cut = proxy.cut_at(proxy::committed("live"));
    let first = ask(&elsewhere, "first", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(first));
    drop(cut);
    let second = ask(&elsewhere, "second", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(second));
    assert!(proxy.of("outbox live").made() >= 2);
}

/// S1-40: the database is out of reach for longer than a feed can make up for: its streams are told, once, and go on behind it. The log
/// says that they stand still, and that they go on.
#[tokio::test]
async fn an_outage_that_is_too_long_is_told() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let logs = Logs::everything();
    let outbox = floor.outbox_on(proxy::pool(&proxy), &[]).build().await.unwrap();
    let elsewhere = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.*").await;
    let told = |text: &str| logs.lines().iter().filter(|line| line.contains(text)).count();
    let (stood, went_on) = (told("live streams stand still"), told("live streams have the database again"));
    assert_eq!(stood, went_on);
    proxy.all().refuse();
    proxy.all().cut();
    eventually("it is told", async || (told("live streams stand still") > stood).then_some(())).await;
    for _ in 0..3 {
        let mut tx = elsewhere.begin().await.unwrap();
        let events: Vec<_> = (0..1_000).map(|n| asked(&n.to_string())).collect();
        elsewhere.publish_all(&mut tx, &events).await.unwrap();
        tx.commit().await.unwrap();
    }
    let refused = proxy.refused();
    eventually("it has tried again", async || (proxy.refused() > refused + 2).then_some(())).await;
    assert_eq!((stream.waiting(), told("live streams stand still")), ((0, 0), stood + 1));
    proxy.all().clear();
    assert_eq!(next(&mut stream).await, Item::Missed(Missed::Behind));
    let last = ask(&elsewhere, "last", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(last));
    assert!(told("live streams have the database again") > went_on);
}

/// S1-40: behind a restart of the server, where the numbers of transactions may mean others, streams are told to read anew, and go on.
#[tokio::test]
async fn a_restart_of_the_server_is_told() {
    let options = Options { durable: true, ..Options::default() };
    let mut server = tokio::task::spawn_blocking(move || Server::start(&options).unwrap()).await.unwrap();
    let pool = PgPool::connect(server.url()).await.unwrap();
    outbox::migrate_schema(&pool, "live").await.unwrap();
    let builder = || Outbox::builder(pool.clone()).schema("live").registry(only_events());
    let outbox = builder().build().await.unwrap();
    let mut stream = watch(&outbox, "work.*").await;
    let seen = ask(&outbox, "seen", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(seen));
    let _server = tokio::task::spawn_blocking(move || {
        server.restart().unwrap();
        server
    })
    .await
    .unwrap();
    assert_eq!(next(&mut stream).await, Item::Missed(Missed::Restarted));
    let last = eventually("publishing works", async || {
        let mut tx = outbox.begin().await.ok()?;
        let event = outbox.publish(&mut tx, &asked("last")).await.ok()?.event_id;
        tx.commit().await.ok()?;
        Some(event)
    })
    .await;
    assert_eq!(next(&mut stream).await, Item::Event(last));
}

/// A stream that begins while the database is away is silent, and stands when it is back.
#[tokio::test]
async fn a_stream_that_begins_in_an_outage_waits_for_its_end() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &[]).build().await.unwrap();
    proxy.all().refuse();
    proxy.all().cut();
    let mut stream = outbox.live().events(["*"]).subscribe().unwrap();
    let refused = proxy.refused();
    eventually("it has tried", async || (proxy.refused() > refused + 1).then_some(())).await;
    assert!(tokio::time::timeout(Duration::ZERO, stream.next()).await.is_err());
    proxy.all().clear();
    assert_eq!(next(&mut stream).await, Item::Missed(Missed::Started));
}
