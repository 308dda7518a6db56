//! One feed a process: what wakes it, what it costs, and that it costs nothing where nobody looks on.

use std::time::Instant;

use outbox_testing::fault::Proxy;
use outbox_testing::{Sandbox, eventually};
use sqlx::PgPool;

use super::watch::{Item, asked, next, onlooker, watch};
use crate::floor::{Floor, Worker, ask};
use crate::proxy;
use crate::support::skipped_behind_a_pooler;

/// S1-13: a second instance, started by accident with the same handlers, runs no job a second time, and publishes no key a second time;
/// each has a feed of its own, so that those who look on at either see every event.
#[tokio::test]
async fn a_second_instance_harms_nobody_and_shows_everything() {
    let floor = Floor::new().await;
    let workers = [floor.worker(&["desk.note"]).await, floor.worker(&["desk.note"]).await];
    let mut streams = Vec::new();
    for worker in &workers {
        streams.push(watch(&worker.outbox, "work.*").await);
    }
    let publish = async |worker: &Worker, n: u32| {
        let mut tx = worker.outbox.begin().await.unwrap();
        let asked = asked(&format!("n{n}"));
        let published = worker.outbox.publish(&mut tx, &asked).key(format!("k{n}")).await.unwrap();
        tx.commit().await.unwrap();
        published
    };
    for n in 0..20 {
        let (here, there) = tokio::join!(publish(&workers[0], n), publish(&workers[1], n));
        assert!(here.duplicate != there.duplicate && here.event_id == there.event_id, "{here:?} {there:?}");
        for stream in &mut streams {
            assert_eq!(next(stream).await, Item::Event(here.event_id));
        }
    }
    floor.until_settled().await;
    for n in 0..20 {
        assert_eq!(floor.stage.executions("desk.note", &format!("n{n}")), 1);
    }
    for worker in workers {
        worker.stop().await;
    }
}

/// A time that no calendar of a client holds is that event's matter: it is shown, and what comes behind it too.
#[tokio::test]
async fn a_time_beyond_the_calendar_ends_no_stream() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let mut stream = watch(&worker.outbox, "work.*").await;
    for time in ["infinity", "-infinity", "290000-01-01", "4000-01-01 BC"] {
        let odd = format!(
            "insert into :schema.event (id, event_version, event_type, subject_type, payload, occurred_at)
             values ((left(:schema.ulid_floor(clock_timestamp())::text, 13) || substr(gen_random_uuid()::text, 14))::uuid, 1, 'work.asked', 'work',
                     '{{\"label\": \"odd\", \"plan\": []}}', '{time}')"
        );
        floor.sandbox.execute(&odd).await;
        let event = ask(&worker.outbox, "behind", []).await;
        assert!(matches!(next(&mut stream).await, Item::Event(odd) if odd != event), "{time}");
        assert_eq!(next(&mut stream).await, Item::Event(event), "{time}");
    }
    worker.stop().await;
}

/// S1-13: one feed in a process reads for any number of streams, by one connection and one that listens, and each event is read once;
/// a second process has its own, and everybody sees every event.
#[tokio::test]
async fn one_feed_reads_for_all_streams_of_a_process() {
    let floor = Floor::new().await;
    let proxies = [proxy::start().await, proxy::start().await];
    let mut processes = Vec::new();
    for proxy in &proxies {
        let outbox = floor.outbox_on(proxy::pool(proxy), &[]).build().await.unwrap();
        let mut streams = Vec::new();
        for _ in 0..50 {
            streams.push(watch(&outbox, "work.*").await);
        }
        processes.push((outbox, streams));
    }
    let reads = || proxies.iter().map(|proxy| proxy.of("outbox live").count("live")).sum::<u64>();
    let before = reads();
    let begun = Instant::now();
    for n in 0..10 {
        let event = ask(&processes[n % 2].0, &format!("n{n}"), []).await;
        for stream in processes.iter_mut().flat_map(|(_, streams)| streams) {
            assert_eq!(next(stream).await, Item::Event(event));
        }
    }
    // Of each process one for each commit of its own, one for each NOTIFY, and those of the clock; not one for each of its streams.
    let most = 2 * 2 * 10 + 2 * (begun.elapsed().as_secs() / 2 + 2);
    assert!(reads() - before <= most, "{} reads, {most} at most", reads() - before);
    for proxy in &proxies {
        assert_eq!(proxy.of("outbox live").made(), 1);
        assert!(proxy.of("outbox live listen").made() <= 1);
    }
}

/// S1-24: a commit of another process wakes the feed by NOTIFY, on a connection of its own: ten events, one behind the other, come in
/// a fraction of what ten polls take.
#[tokio::test]
async fn a_commit_elsewhere_wakes_the_feed() {
    if skipped_behind_a_pooler("nobody listens behind a pooler") {
        return;
    }
    let floor = Floor::new().await;
    let (outbox, elsewhere) = (onlooker(&floor).await, onlooker(&floor).await);
    let mut stream = watch(&outbox, "work.*").await;
    let listens =
        "select count(*) from pg_stat_activity where application_name = 'outbox live listen' and query like '%LISTEN%'";
    eventually("it listens", async || (floor.sandbox.number(listens).await > 0).then_some(())).await;
    let begun = Instant::now();
    for n in 0..10 {
        let event = ask(&elsewhere, &format!("n{n}"), []).await;
        assert_eq!(next(&mut stream).await, Item::Event(event));
    }
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

/// S1-9, S1-25: without any notification every event is seen all the same, by the poll of two seconds, which is counted from the last
/// read and runs whether it listens or not.
#[tokio::test]
async fn without_notifications_it_polls() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let deaf = floor.outbox_on(proxy::pool(&proxy), &[]).poll_only().build().await.unwrap();
    let elsewhere = floor.outbox(&[]).poll_only().build().await.unwrap();
    let mut stream = watch(&deaf, "work.*").await;
    for n in 0..3 {
        let event = ask(&elsewhere, &format!("n{n}"), []).await;
        assert_eq!(next(&mut stream).await, Item::Event(event));
    }
    let (begun, before) = (Instant::now(), proxy.all().count("live"));
    eventually("it has polled twice", async || (proxy.all().count("live") >= before + 2).then_some(())).await;
    assert!(begun.elapsed().as_millis() >= 1_900, "two polls within {:?}", begun.elapsed());
    assert_eq!(proxy.of("outbox live listen").made(), 0);
    // One that listens polls too.
    let proxy = proxy::start().await;
    let hears = floor.outbox_on(proxy::pool(&proxy), &[]).build().await.unwrap();
    let mut stream = watch(&hears, "work.*").await;
    let event = ask(&elsewhere, "not notified", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(event));
}

/// S1-39: a commit of the same process wakes its feed at once, without NOTIFY and without a poll, and is seen behind one round trip: one
/// read for each commit, besides those of the clock.
#[tokio::test]
async fn a_commit_here_is_seen_behind_one_round_trip() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &[]).poll_only().build().await.unwrap();
    let mut stream = watch(&outbox, "work.*").await;
    let reads = || proxy.of("outbox live").count("live");
    let (begun, before) = (Instant::now(), reads());
    for n in 0..10 {
        let event = ask(&outbox, &format!("n{n}"), []).await;
        assert_eq!(next(&mut stream).await, Item::Event(event));
    }
    let most = 10 + begun.elapsed().as_secs() / 2 + 2;
    assert!(reads() - before <= most, "{} reads, {most} at most", reads() - before);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

/// Where nobody looks on nothing is read, no connection is made, and a publish sends what it sends without live streams.
#[tokio::test]
async fn it_costs_nothing_where_nobody_looks_on() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &[]).poll_only().build().await.unwrap();
    let publish = async |n: u32| {
        let before = proxy.all().statements();
        let mut tx = outbox.begin().await.unwrap();
        outbox.publish(&mut tx, &asked(&n.to_string())).await.unwrap();
        tx.commit().await.unwrap();
        let after = proxy.all().statements();
        let sent = |(name, count): (&String, &u64)| (name.clone(), count - before.get(name).unwrap_or(&0));
        after.iter().map(sent).filter(|(name, count)| *count > 0 && name != "live").collect::<Vec<_>>()
    };
    publish(0).await;
    let alone = publish(1).await;
    assert_eq!((proxy.of("outbox live").made(), proxy.all().count("live"), proxy.all().count("live_open")), (0, 0, 0));
    let mut stream = watch(&outbox, "*").await;
    let watched = publish(2).await;
    assert!(matches!(next(&mut stream).await, Item::Event(_)));
    let of_publishing = |sent: Vec<(String, u64)>| {
        sent.into_iter().filter(|(name, _)| !Sandbox::is_pooled() || name.starts_with("publish")).collect::<Vec<_>>()
    };
    assert_eq!(of_publishing(alone), of_publishing(watched));
}

/// It works through a transaction pooler, where no notification is ever heard: by polling, and with nothing left in the session.
#[tokio::test]
async fn it_works_through_a_transaction_pooler() {
    let floor = Floor::new().await;
    let pooler = crate::pooler::pooler().await;
    let proxy = Proxy::start(pooler.url()).unwrap();
    let through = |pool: PgPool| outbox::Outbox::builder(pool).schema(floor.sandbox.schema()).transaction_pooler();
    let outbox = through(proxy::pool(&proxy)).registry(crate::linkage::only_events()).build().await.unwrap();
    let elsewhere = onlooker(&floor).await;
    let mut stream = watch(&outbox, "work.*").await;
    let mut open = elsewhere.begin().await.unwrap();
    let late = super::watch::publish_in(&elsewhere, &mut open, "late").await;
    let here = ask(&outbox, "here", []).await;
    assert_eq!(next(&mut stream).await, Item::Event(here));
    open.commit().await.unwrap();
    assert_eq!(next(&mut stream).await, Item::Event(late));
    let live = proxy.of("outbox live").statements();
    assert_eq!(live.keys().map(String::as_str).collect::<Vec<_>>(), ["begin", "commit", "live", "live_open"]);
}
