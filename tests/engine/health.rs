//! What a worker says of itself: liveness, readiness, and whether its listener hears.

use std::time::Duration;

use outbox::health::{Listening, Stage as Standing};
use outbox::{Health, Outbox};
use outbox_testing::fault::{Point, Proxy};
use outbox_testing::{Logs, Sandbox, eventually};
use sqlx::AssertSqlSafe;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::floor::{Do, Floor, Worker, ask};
use crate::support::{NOBODY_LISTENS, skipped_behind_a_pooler};

const HOUR: Duration = Duration::from_hours(1);

async fn until(outbox: &Outbox, what: &str, is: impl Fn(&Health) -> bool) -> Health {
    eventually(what, async || Some(outbox.health()).filter(|health| is(health))).await
}

/// A floor whose outboxes reach the database through a proxy of the fault kit.
async fn proxied() -> (Floor, Proxy) {
    (Floor::new().await, Proxy::start(&Sandbox::url().await).unwrap())
}

async fn outbox(floor: &Floor, proxy: &Proxy, handlers: &[&str]) -> Outbox {
    let pool = PgPoolOptions::new().max_connections(2).connect_lazy_with(proxy.options());
    floor.outbox_on(pool, handlers).poll_interval(HOUR).build().await.unwrap()
}

/// A worker is ready once it has claimed and hears; before it runs and after it has ended it is not, and an end that nobody
/// asked about is no sign of life.
#[tokio::test]
async fn a_worker_is_ready_from_its_first_claim_to_its_end() {
    let hears = if Sandbox::is_pooled() { Listening::Off } else { Listening::Hears };
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let idle = outbox.health();
    assert!(idle.is_live() && !idle.is_ready());
    assert_eq!(idle.to_string(), "not ready: no worker runs in this process");
    let worker = Worker::start(outbox.clone());
    let ready = until(&outbox, "it is ready and hears", |health| health.is_ready() && health.listening == hears).await;
    assert!(ready.to_string().starts_with("ready: 0 of 16 executions under way, claimed "), "{ready}");
    let event = ask(&outbox, "a", [Do::Wait("gate".into())]).await;
    floor.until("desk.note", event, "running").await;
    until(&outbox, "the execution shows", |health| health.running == 1).await;
    floor.stage.open("gate");
    worker.stop().await;
    let ended = outbox.health();
    assert_eq!((ended.stage, ended.is_live(), ended.is_ready()), (Standing::Ended, false, false));
}

/// Readiness falls when the database is away, says why, and comes back with it; liveness stays, because starting the process anew
/// would not help.
#[tokio::test]
async fn readiness_goes_and_comes_with_the_database() {
    let (floor, proxy) = proxied().await;
    let outbox = outbox(&floor, &proxy, &["desk.note"]).await;
    let worker = Worker::start(outbox.clone());
    until(&outbox, "it is ready", Health::is_ready).await;
    proxy.all().refuse();
    proxy.all().cut();
    let away = until(&outbox, "it is not ready", |health| !health.is_ready()).await;
    assert!(away.is_live());
    assert!(!away.troubles.is_empty(), "{away}");
    proxy.all().clear();
    let back = until(&outbox, "it is ready again", Health::is_ready).await;
    assert!(back.troubles.iter().all(|trouble| trouble.service == "listen"), "{back}");
    worker.stop().await;
}

/// Of a listener that gets no connection it is said that the database was not reached, not that a pool timed out: the pool is one
/// that the application never made.
#[tokio::test]
async fn a_listener_without_a_connection_does_not_blame_a_pool() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let (floor, proxy) = proxied().await;
    let pool = PgPoolOptions::new().max_connections(2).connect_lazy_with(proxy.options());
    // A lease that outlasts the wait: when it is lost, all services begin anew.
    let outbox = floor.outbox_on(pool, &["desk.note"]).lease(Duration::from_secs(30)).build().await.unwrap();
    let worker = Worker::start(outbox.clone());
    until(&outbox, "it hears", |health| health.listening == Listening::Hears).await;
    // Nobody listens at its address any more: sqlx's pool tries again for as long as it may, and then speaks of itself.
    drop(proxy);
    let of_listener = |health: &Health| health.troubles.iter().find(|one| one.service == "listen").cloned();
    let waited = |health: &Health| of_listener(health).is_some_and(|one| !one.error.starts_with("error communicating"));
    let away = until(&outbox, "the listener has waited for a connection", waited).await;
    let said = of_listener(&away).unwrap().error;
    assert_eq!(said, "no connection to the database was made within 3s");
    worker.stop().await;
}

/// Q10: a worker whose upkeep fails from its start goes on claiming, tries the upkeep again, and is not ready until it gets through.
#[tokio::test]
async fn a_service_that_fails_from_the_start_is_tried_again_and_told() {
    let (floor, proxy) = proxied().await;
    let outbox = outbox(&floor, &proxy, &["desk.note"]).await;
    let broken = proxy.cut_at(Point::before("rescue_mark").every_time());
    let worker = Worker::start(outbox.clone());
    let event = ask(&outbox, "a", []).await;
    floor.until("desk.note", event, "succeeded").await;
    let red = until(&outbox, "the upkeep has failed twice", |health| {
        health.troubles.iter().any(|trouble| trouble.service == "upkeep" && trouble.failures >= 2)
    })
    .await;
    assert!(red.is_live() && !red.is_ready());
    assert!(red.to_string().starts_with("not ready: upkeep has not got through for "), "{red}");
    drop(broken);
    until(&outbox, "it is ready", Health::is_ready).await;
    worker.stop().await;
}

/// Q7, O17: a listener whose connection is dead without saying so finds out by itself and connects again; what was published
/// meanwhile elsewhere starts then, with an hour between polls.
#[tokio::test]
async fn a_listener_that_hears_nothing_any_more_connects_again() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let (floor, proxy) = proxied().await;
    let outbox = outbox(&floor, &proxy, &["desk.note"]).await;
    let elsewhere = floor.outbox(&["desk.note"]).build().await.unwrap();
    let worker = Worker::start(outbox.clone());
    until(&outbox, "it hears", |health| health.listening == Listening::Hears).await;
    proxy.of("outbox listen").forget();
    let event = ask(&elsewhere, "a", []).await;
    floor.until("desk.note", event, "succeeded").await;
    let again = |health: &Health| health.listening == Listening::Hears && health.listener_reconnects > 0;
    until(&outbox, "it hears again, over another connection", again).await;
    let event = ask(&elsewhere, "b", []).await;
    floor.until("desk.note", event, "succeeded").await;
    worker.stop().await;
}

/// O18: where notifications never arrive, as behind a transaction pooler, the worker says so once, and finds the work of others by
/// polling within a second, though it was told to poll once an hour.
#[tokio::test]
async fn where_notifications_never_arrive_it_polls_and_says_so() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let (floor, proxy) = proxied().await;
    let logs = Logs::warnings();
    let outbox = outbox(&floor, &proxy, &["desk.note"]).await;
    let elsewhere = floor.outbox(&["desk.note"]).build().await.unwrap();
    // It listens before it sends to itself: from there on nothing reaches it.
    let listens = proxy.hold_at(Point::before("heartbeat"));
    let worker = Worker::start(outbox.clone());
    listens.until_reached().await;
    proxy.of("outbox listen").black_hole();
    listens.release();
    let deaf = until(&outbox, "it knows that it is deaf", |health| health.listening == Listening::Deaf).await;
    assert!(deaf.is_ready() && deaf.to_string().ends_with("polling because notifications do not arrive"), "{deaf}");
    for label in ["a", "b"] {
        let event = ask(&elsewhere, label, []).await;
        floor.until("desk.note", event, "succeeded").await;
    }
    let said = logs.lines().iter().filter(|line| line.contains("notifications do not arrive here")).count();
    assert_eq!(said, 1, "{:?}", logs.lines());
    worker.stop().await;
}

/// Executions that block their thread past their handler's timeout turn readiness red when they hold every slot of that handler,
/// and liveness when they hold every slot there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn slots_that_are_blocked_for_good_are_told() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.quick", "desk.note"]).concurrency(2).build().await.unwrap();
    let worker = Worker::start(outbox.clone());
    until(&outbox, "it is ready", Health::is_ready).await;
    // Each of the two handlers may take one of the two slots.
    ask(&outbox, "a", [Do::BlockUntil("gate".into())]).await;
    let red = until(&outbox, "a handler is blocked", |health| !health.is_ready()).await;
    assert!(red.is_live());
    assert!(
        red.to_string()
            .contains("every slot of a handler is held by executions that block their thread: 1 of 1 of `desk.quick`"),
        "{red}"
    );
    floor.stage.open("gate");
    until(&outbox, "it is ready again", Health::is_ready).await;
    worker.stop().await;
}

/// Slots that no handler may take do not count: a process whose only handler has all of its own blocked does nothing any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_process_whose_handlers_are_all_blocked_is_not_live_however_many_slots_it_has() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.quick"]).concurrency(9).module_concurrency("desk", 1).build().await.unwrap();
    let worker = Worker::start(outbox.clone());
    let ready = until(&outbox, "it is ready", Health::is_ready).await;
    assert!(ready.to_string().starts_with("ready: 0 of 1 executions under way"), "{ready}");
    ask(&outbox, "a", [Do::BlockUntil("gate".into())]).await;
    let dead = until(&outbox, "it is not live", |health| !health.is_live()).await;
    assert!(dead.to_string().contains("all 1 slots are held by handlers that block their thread"), "{dead}");
    floor.stage.open("gate");
    until(&outbox, "it is ready again", Health::is_ready).await;
    worker.stop().await;
}

/// A job that crashed before keeps its slot until its outcome is written. While somebody else has its row locked, the slot is held by
/// no handler: the process is left alone.
#[tokio::test]
async fn a_slot_that_waits_for_a_locked_row_is_no_blocked_handler() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.quick"]).concurrency(1).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Wait("gate".into())]).await;
    floor.sandbox.execute("update :schema.job_live set crashes = 1").await;
    let worker = Worker::start(outbox.clone());
    floor.until("desk.quick", event, "running").await;
    let mut person = floor.sandbox.pool().begin().await.unwrap();
    let lock = format!("select from {}.job_live for update", floor.sandbox.schema());
    sqlx::query(AssertSqlSafe(lock)).execute(&mut *person).await.unwrap();
    floor.stage.open("gate");
    let since = std::time::Instant::now();
    // As long as it would take to be held for blocked.
    until(&outbox, "it has been left alone for long", |health| {
        assert!(health.is_live(), "{health}");
        since.elapsed() > Duration::from_secs(8)
    })
    .await;
    person.rollback().await.unwrap();
    floor.until("desk.quick", event, "succeeded").await;
    worker.stop().await;
}

/// A runtime whose threads are all blocked is not live, which another thread can still be told.
#[test]
fn a_runtime_that_is_blocked_is_not_live() {
    let (given, taken) = std::sync::mpsc::channel();
    let blocked = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let floor = Floor::new().await;
            let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
            let worker = Worker::start(outbox.clone());
            until(&outbox, "it is ready", Health::is_ready).await;
            let event = ask(&outbox, "a", [Do::Block(12_500)]).await;
            given.send(outbox.clone()).unwrap();
            floor.until("desk.note", event, "succeeded").await;
            until(&outbox, "it is ready again", Health::is_ready).await;
            worker.stop().await;
        });
    });
    let outbox: Outbox = taken.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dead = runtime.block_on(until(&outbox, "it is not live", |health| !health.is_live()));
    assert!(dead.to_string().contains("something blocks the runtime's threads"), "{dead}");
    blocked.join().unwrap();
}

/// A pool that could take every connection that the role may have is refused at the start, with the numbers and what to do; one
/// that leaves the engine its own is not.
#[tokio::test]
async fn numbers_of_connections_that_cannot_work_are_refused_at_the_start() {
    if skipped_behind_a_pooler("a pooler, and not the process, has the connections of the server") {
        return;
    }
    let floor = Floor::new().await;
    let role = format!("limited_{}", floor.sandbox.schema());
    let create = format!(
        "do $$ begin execute format('create role {role} login password ''x'' connection limit 10 in role %I', current_user); end $$"
    );
    floor.sandbox.execute(&create).await;
    let options: PgConnectOptions = Sandbox::url().await.parse().unwrap();
    let options = options.username(&role).password("x");
    let build = async |connections, poll_only: bool| {
        let pool = PgPoolOptions::new().max_connections(connections).connect_lazy_with(options.clone());
        let builder = floor.outbox_on(pool, &["desk.note"]);
        let built = if poll_only { builder.poll_only().build().await } else { builder.build().await };
        built.map(drop).map_err(|error| error.to_string())
    };
    let (fits, polls, too_many) = (build(2, false).await, build(4, true).await, build(3, false).await);
    let drop_role = format!("drop owned by {role}; drop role {role}");
    sqlx::raw_sql(AssertSqlSafe(drop_role)).execute(floor.sandbox.pool()).await.unwrap();
    assert_eq!((fits, polls), (Ok(()), Ok(())));
    assert_eq!(
        too_many,
        Err("the application's pool may take 3 connections and the engine holds 8 of its own, but the database allows this role 10: \
             under load the pool would leave none to renew the lease; lower the pool's `max_connections`, or raise the limit of the \
             server (`max_connections`), the database or the role (`connection limit`)"
            .to_owned())
    );
}
