//! How soon a worker starts: kick, NOTIFY, LISTEN, poll; and how little it asks when there is nothing to do.

use std::time::{Duration, Instant};

use outbox::Profile;
use outbox_testing::{Sandbox, eventually};

use crate::floor::{Asked, Floor, Worker, ask, ask_many};
use crate::proxy;
use crate::support::{NOBODY_LISTENS, skipped_behind_a_pooler};

const HOUR: Duration = Duration::from_hours(1);

/// S2-15: the commit of a transaction that published starts the job in the same process at once, with an hour between polls and
/// neither NOTIFY nor LISTEN.
#[tokio::test]
async fn a_commit_wakes_the_same_process() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).poll_interval(HOUR).poll_only().build().await.unwrap();
    let worker = Worker::start(outbox);
    // Idle first, so that it is the kick that wakes it.
    let event = ask(&worker.outbox, "first", []).await;
    floor.until("desk.note", event, "succeeded").await;
    for label in ["a", "b", "c"] {
        let event = ask(&worker.outbox, label, []).await;
        floor.until("desk.note", event, "succeeded").await;
    }
    worker.stop().await;
}

/// S2-15: `kick()` behind the commit of a transaction that the outbox did not begin does the same; before it, nothing starts.
#[tokio::test]
async fn a_kick_wakes_behind_a_foreign_transaction() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).poll_interval(HOUR).poll_only().build().await.unwrap();
    let worker = Worker::start(outbox);
    let event = ask(&worker.outbox, "first", []).await;
    floor.until("desk.note", event, "succeeded").await;
    let mut tx = floor.sandbox.pool().begin().await.unwrap();
    let asked = Asked { label: "a".into(), plan: vec![] };
    let event = worker.outbox.publish(&mut tx, &asked).await.unwrap().event_id;
    tx.commit().await.unwrap();
    assert_eq!(floor.job("desk.note", event).await.status, "pending");
    worker.outbox.kick();
    floor.until("desk.note", event, "succeeded").await;
    worker.stop().await;
}

/// S2-15: nothing is said before the commit: a worker that has gone to sleep asks for nothing while the event and its job are written and not
/// committed, nor when they are rolled back.
#[tokio::test]
async fn nothing_wakes_before_the_commit() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).poll_interval(HOUR).poll_only();
    let worker = Worker::start(outbox.build().await.unwrap());
    let event = ask(&worker.outbox, "first", []).await;
    floor.until("desk.note", event, "succeeded").await;
    let pause = async || sqlx::query("select pg_sleep(0.3)").execute(floor.sandbox.pool()).await.map(drop).unwrap();
    let before = eventually("it sleeps", async || {
        let before = proxy.all().count("claim");
        pause().await;
        (proxy.all().count("claim") == before).then_some(before)
    })
    .await;
    let asked = Asked { label: "a".into(), plan: vec![] };
    let mut tx = worker.outbox.begin().await.unwrap();
    worker.outbox.publish(&mut tx, &asked).await.unwrap();
    tx.rollback().await.unwrap();
    let mut tx = worker.outbox.begin().await.unwrap();
    let event = worker.outbox.publish(&mut tx, &asked).await.unwrap().event_id;
    pause().await;
    assert_eq!(proxy.all().count("claim"), before);
    tx.commit().await.unwrap();
    floor.until("desk.note", event, "succeeded").await;
    worker.stop().await;
}

/// S2-15: a commit while a scan is under way, which cannot see it any more, is not lost between the scan and the sleep behind it: with an hour
/// between polls and nobody to notify, its job runs at once.
#[tokio::test]
async fn a_kick_during_a_scan_is_not_lost() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).poll_interval(HOUR).poll_only();
    let worker = Worker::start(outbox.build().await.unwrap());
    let event = ask(&worker.outbox, "first", []).await;
    floor.until("desk.note", event, "succeeded").await;
    for label in ["a", "b", "c"] {
        // The scan has been answered by the server, and the worker does not know it yet.
        let scanned = proxy.hold_at(outbox_testing::fault::Point::after("claim"));
        worker.outbox.kick();
        scanned.until_reached().await;
        let event = ask(&worker.outbox, label, []).await;
        assert_eq!(floor.job("desk.note", event).await.status, "pending");
        scanned.release();
        floor.until("desk.note", event, "succeeded").await;
    }
    worker.stop().await;
}

/// S1-8, S1-24: a commit in another outbox wakes this one by NOTIFY, with an hour between polls.
#[tokio::test]
async fn a_commit_elsewhere_wakes_by_notify() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let floor = Floor::new().await;
    let worker = Worker::start(floor.outbox(&["desk.note"]).poll_interval(HOUR).build().await.unwrap());
    listening(&floor).await;
    let elsewhere = floor.outbox(&["desk.note"]).build().await.unwrap();
    for label in ["a", "b"] {
        let event = ask(&elsewhere, label, []).await;
        floor.until("desk.note", event, "succeeded").await;
    }
    worker.stop().await;
}

/// Whether the worker behind the proxy listens, if it is one that does.
fn listens(proxy: &outbox_testing::fault::Proxy) -> bool {
    Sandbox::is_pooled() || proxy.all().count("listen") > 0
}

/// Waits until a listener of this schema is there, and answers its backend.
async fn listening(floor: &Floor) -> i32 {
    let text = format!(
        "select pid from pg_stat_activity where application_name = 'outbox listen' and query ilike 'listen%{}%'",
        floor.sandbox.schema()
    );
    eventually("a listener listens", async || {
        let query = sqlx::query_scalar(sqlx::AssertSqlSafe(text.clone()));
        query.fetch_optional(floor.sandbox.pool()).await.unwrap()
    })
    .await
}

/// S1-25: poll-only, the work of others is found by polling, and nobody listens or notifies.
#[tokio::test]
async fn poll_only_finds_the_work_of_others() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).poll_only().build().await.unwrap();
    let worker = Worker::start(outbox);
    // Its first claims are behind it, so that what comes now is found by a poll.
    eventually("it polls", async || (proxy.all().count("claim") > 2).then_some(())).await;
    let elsewhere = floor.outbox(&["desk.note"]).poll_only().build().await.unwrap();
    let event = ask(&elsewhere, "a", []).await;
    floor.until("desk.note", event, "succeeded").await;
    let event = ask(&worker.outbox, "b", []).await;
    floor.until("desk.note", event, "succeeded").await;
    worker.stop().await;
    assert_eq!((proxy.all().count("wake"), proxy.all().count("listen")), (0, 0));
    assert!(proxy.all().count("claim") > 0);
}

/// S1-48, S0-28: an idle worker issues at most one claim a second.
#[tokio::test]
async fn an_idle_worker_claims_at_most_once_a_second() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox =
        floor.outbox_on(proxy::pool(&proxy), &["desk.note", "till.book"]).poll_interval(Duration::from_secs(1));
    let worker = Worker::start(outbox.build().await.unwrap());
    // The first claims: at the start, and behind the LISTEN.
    eventually("it listens", async || (listens(&proxy) && proxy.all().count("claim") > 0).then_some(())).await;
    let event = ask(&worker.outbox, "a", []).await;
    floor.until("till.book", event, "succeeded").await;
    let (begun, before) = (Instant::now(), proxy.all().count("claim"));
    eventually("it has claimed six times", async || (proxy.all().count("claim") >= before + 6).then_some(())).await;
    // Five whole intervals, of which the machine may have swallowed a part of one.
    assert!(begun.elapsed() >= Duration::from_millis(4500), "six claims within {:?}", begun.elapsed());
    worker.stop().await;
}

/// A publish costs a lone process one claim: its own NOTIFY, which comes back to it, is no reason to look again.
#[tokio::test]
async fn a_process_is_not_woken_by_its_own_notify() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).poll_interval(HOUR).build().await.unwrap();
    let worker = Worker::start(outbox);
    listening(&floor).await;
    let elsewhere = floor.outbox(&["desk.note"]).build().await.unwrap();
    // Behind the claims of the start.
    let event = ask(&elsewhere, "first", []).await;
    floor.until("desk.note", event, "succeeded").await;
    let before = proxy.all().count("claim");
    for label in ["a", "b", "c"] {
        let event = ask(&worker.outbox, label, []).await;
        floor.until("desk.note", event, "succeeded").await;
    }
    // Notifications come in the order of their commits, so that ours have been heard before this one.
    eventually("it has notified", async || (proxy.all().count("wake") > 0).then_some(())).await;
    let event = ask(&elsewhere, "last", []).await;
    floor.until("desk.note", event, "succeeded").await;
    assert_eq!(proxy.all().count("claim") - before, 4);
    worker.stop().await;
}

/// S1-8, B12: a thousand publishes in one transaction cause one NOTIFY; claiming, running and settling what they made due cause none;
/// claims grow with batches and not with jobs.
#[tokio::test]
async fn one_commit_is_one_wake() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).poll_interval(HOUR).build().await.unwrap();
    let worker = Worker::start(outbox);
    eventually("it listens", async || listens(&proxy).then_some(())).await;
    let mut tx = worker.outbox.begin().await.unwrap();
    for n in 0..1000 {
        worker.outbox.publish(&mut tx, &Asked { label: format!("n{n}"), plan: vec![] }).await.unwrap();
    }
    tx.commit().await.unwrap();
    eventually("all have run", async || (floor.stage.noted("ended ").len() == 1000).then_some(())).await;
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!(proxy.all().count("wake"), 1);
    assert!(proxy.all().count("claim") <= 100, "{} claims for 1000 jobs", proxy.all().count("claim"));
    assert!(proxy.all().count("settle") <= 1000, "{} settles for 1000 jobs", proxy.all().count("settle"));
}

/// B12: commits in quick succession are debounced to one NOTIFY in ten milliseconds, and the last one is not lost.
#[tokio::test]
async fn many_commits_are_debounced() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let publisher = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).profile(Profile::high_throughput());
    let publisher = publisher.build().await.unwrap();
    let worker = Worker::start(floor.outbox(&["desk.note"]).poll_interval(HOUR).build().await.unwrap());
    listening(&floor).await;
    let begun = Instant::now();
    for n in 0..200 {
        ask(&publisher, &format!("n{n}"), []).await;
        publisher.kick();
        publisher.kick();
    }
    floor.until_settled().await;
    worker.stop().await;
    // One every fifty milliseconds at most, and the one on the leading edge.
    let most = u64::try_from(begun.elapsed().as_millis()).unwrap() / 50 + 1;
    assert!(proxy.all().count("wake") <= most, "{} within {:?}", proxy.all().count("wake"), begun.elapsed());
}

/// Commits that go on and on without a pause keep one sender of wakes busy, and make no others that would wait for it, and stay in
/// memory, until the first pause.
#[tokio::test]
async fn commits_without_a_pause_keep_one_sender() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let publisher = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).build().await.unwrap();
    publisher.kick();
    let sent = || proxy.all().count("wake");
    eventually("the first one is sent", async || (sent() > 0).then_some(())).await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut most = 0;
    while sent() < 50 {
        publisher.kick();
        most = most.max(tokio::runtime::Handle::current().metrics().num_alive_tasks());
        tokio::task::yield_now().await;
    }
    assert!(most <= before + 3, "{most} tasks behind {} wakes, and {before} before", sent());
}

/// Q7, O17, B10: the listener's backend is terminated, and cannot connect again while others publish; with an hour between polls the
/// jobs are found all the same, at the latest by the claim that follows each LISTEN, and then it hears again.
#[tokio::test]
async fn what_was_published_while_nobody_listened_is_found() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).poll_interval(HOUR).build().await.unwrap();
    let worker = Worker::start(outbox);
    let backend = listening(&floor).await;
    let event = ask(&worker.outbox, "first", []).await;
    floor.until("desk.note", event, "succeeded").await;
    proxy.all().refuse();
    let terminate = sqlx::query_scalar::<_, bool>("select pg_terminate_backend($1)").bind(backend);
    assert!(terminate.fetch_one(floor.sandbox.pool()).await.unwrap());
    let gone = format!("select count(*) from pg_stat_activity where pid = {backend}");
    floor.until_number(&gone, 0).await;
    let elsewhere = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&elsewhere, "a", []).await;
    ask_many(&elsewhere, 5, []).await;
    let refused = proxy.refused();
    eventually("it has tried to reconnect", async || (proxy.refused() > refused).then_some(())).await;
    proxy.all().clear();
    let back = Instant::now();
    floor.until("desk.note", event, "succeeded").await;
    assert!(back.elapsed() < Duration::from_secs(4), "{:?}", back.elapsed());
    floor.until_settled().await;
    // And it listens again.
    listening(&floor).await;
    let event = ask(&elsewhere, "b", []).await;
    floor.until("desk.note", event, "succeeded").await;
    worker.stop().await;
}

/// A DBA's `idle_session_timeout` does not end the connections of an idle worker, which would make each of them anew all the
/// time and miss what is said meanwhile.
#[tokio::test]
async fn an_idle_worker_keeps_its_connections() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let options = proxy::pool(&proxy).connect_options().as_ref().clone().options([("idle_session_timeout", "300")]);
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(2).connect_lazy_with(options);
    let worker = Worker::start(floor.outbox_on(pool, &["desk.note"]).poll_interval(HOUR).build().await.unwrap());
    let backend = listening(&floor).await;
    let elsewhere = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&elsewhere, "a", []).await;
    floor.until("desk.note", event, "succeeded").await;
    // Every service has its connection by then.
    let used = ["renew", "rescue_mark", "settle", "prune"];
    eventually("all services have worked", async || used.iter().all(|text| proxy.all().count(text) > 0).then_some(()))
        .await;
    // Of them all but the lookout, which connects only where a claim was slow.
    let made = || proxy.all().made() - proxy.of("outbox look").made();
    let before = made();
    let idle = format!(
        "select count(*) from pg_stat_activity where pid = {backend} and clock_timestamp() - state_change > interval '1 s'"
    );
    floor.until_number(&idle, 1).await;
    let event = ask(&elsewhere, "b", []).await;
    floor.until("desk.note", event, "succeeded").await;
    assert_eq!(made(), before, "no connection was made anew");
    worker.stop().await;
}
