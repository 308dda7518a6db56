//! backfill: whoever published without seeing an activation gets its missing job, once, and nobody else gets one.

use outbox::prelude::*;
use outbox::{OutboxTransaction, PublishError, Registry};
use outbox_testing::eventually;
use sqlx::{Connection, PgConnection};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::linkage::{linking, on, on_any, only_events};
use crate::sql::{assert_usable, holds, pid, until_blocked};
use crate::support::{OrderPlaced, Shop, publish};

/// A worker that runs beside the test until it is stopped.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), outbox::RunError>>,
}

impl Running {
    fn start(outbox: &Outbox) -> Self {
        let (stop, stopped) = oneshot::channel();
        let outbox = outbox.clone();
        Self { stop, task: tokio::spawn(async move { outbox.run(async { drop(stopped.await) }).await }) }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

fn counting() -> Registry {
    linking([on("inventory.count", "order.placed")])
}

async fn until(shop: &Shop, what: &str, sql: &str) {
    eventually(what, async || holds(&shop.sandbox, sql).await.then_some(())).await;
}

/// What the barrier has to wait for has been written down.
async fn until_barrier(shop: &Shop) {
    until(shop, "the barrier is raised", "select bool_and(barrier_xid is not null) from :schema.subscription").await;
}

async fn until_backfilled(shop: &Shop) {
    until(shop, "the backfill is complete", "select bool_and(backfilled_at is not null) from :schema.subscription")
        .await;
}

async fn is_backfilled(shop: &Shop) -> bool {
    holds(&shop.sandbox, "select bool_and(backfilled_at is not null) from :schema.subscription").await
}

/// The barrier has been tried: the worker's upkeep has gone round often enough. Each round begins with a look for workers that
/// died, so one that never lived tells of it.
async fn until_tried(shop: &Shop) {
    for _ in 0..4 {
        let dead = "insert into :schema.worker (id, name, ranges, expires_at) values (gen_random_uuid(), 'a round', '{}', '-infinity')";
        shop.sandbox.execute(dead).await;
        until(
            shop,
            "the upkeep has gone round",
            "select not exists (select from :schema.worker where name = 'a round' and dead_at is null)",
        )
        .await;
    }
}

async fn begun(outbox: &Outbox, order: &str) -> (OutboxTransaction, outbox::Published) {
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish(&mut tx, &OrderPlaced::of(order)).await.unwrap();
    (tx, published)
}

/// S0-10, O1, B21: an event whose transaction was open when a subscriber was activated, and stays open for long, gets its job when
/// it has committed, exactly once; meanwhile the backfill waits, and what is published beside it is handled.
#[tokio::test]
async fn an_event_that_was_open_at_the_activation_gets_its_job_once() {
    let shop = Shop::new().await;
    let old = shop.bare(only_events()).build().await.unwrap();
    let (late, missed) = begun(&old, "late").await;
    assert_eq!(missed.jobs, 0);
    let new = shop.bare(counting()).build().await.unwrap();
    let worker = Running::start(&new);
    until_barrier(&shop).await;
    let beside = publish(&old, "beside").await;
    until(&shop, "what is published beside it is handled", "select count(*) = 1 from :schema.job_succeeded").await;
    until_tried(&shop).await;
    assert!(!is_backfilled(&shop).await, "an open transaction may yet lack its job");
    late.commit().await.unwrap();
    until_backfilled(&shop).await;
    until(&shop, "both are handled", "select count(*) = 2 from :schema.job_succeeded").await;
    worker.stop().await;
    let mut events: Vec<_> = shop.sandbox.jobs().await.0.iter().map(|job| job.event_id.unwrap()).collect();
    events.sort_unstable();
    assert_eq!(events, [missed.event_id, beside.event_id]);
    assert_eq!(shop.script.count("inventory.count"), 2);
}

/// S0-10: a publisher that had read the catalogue and had no transaction number yet when the barrier was raised is waited for too:
/// its number is above the barrier's.
#[tokio::test]
async fn a_publisher_without_a_number_is_waited_for() {
    let shop = Shop::new().await;
    let gate = "create function :schema.gate() returns trigger language plpgsql as
                  $$ begin perform pg_advisory_xact_lock(hashtextextended(tg_table_schema, 7)); return new; end $$;
                create trigger gate before insert on :schema.publish_key for each row execute function :schema.gate()";
    shop.sandbox.execute(gate).await;
    let mut keeper = shop.sandbox.pool().begin().await.unwrap();
    let close = "select pg_advisory_xact_lock(hashtextextended($1, 7))";
    sqlx::query(close).bind(shop.sandbox.schema()).execute(&mut *keeper).await.unwrap();

    let old = shop.bare(only_events()).build().await.unwrap();
    let mut tx = old.begin().await.unwrap();
    let process = pid(&mut tx).await;
    let late = tokio::spawn(async move {
        let published = old.publish(&mut tx, &OrderPlaced::of("late")).key("k").await.unwrap();
        (published, tx)
    });
    until_blocked(shop.sandbox.pool(), process).await;
    let numbered: bool = sqlx::query_scalar("select backend_xid is not null from pg_stat_activity where pid = $1")
        .bind(process)
        .fetch_one(shop.sandbox.pool())
        .await
        .unwrap();
    assert!(!numbered, "what the test relies on");

    let new = shop.bare(counting()).build().await.unwrap();
    let worker = Running::start(&new);
    until_barrier(&shop).await;
    until_tried(&shop).await;
    assert!(!is_backfilled(&shop).await);
    keeper.rollback().await.unwrap();
    let (missed, tx) = late.await.unwrap();
    assert_eq!(missed.jobs, 0);
    until_tried(&shop).await;
    assert!(!is_backfilled(&shop).await, "its transaction is still open");
    tx.commit().await.unwrap();
    until_backfilled(&shop).await;
    until(&shop, "it is handled", "select count(*) = 1 from :schema.job_succeeded").await;
    worker.stop().await;
    assert!(holds(&shop.sandbox, "select e.xid >= s.barrier_xid from :schema.event e, :schema.subscription s").await);
    assert_eq!(shop.sandbox.jobs().await.only().event_id, Some(missed.event_id));
}

/// S0-10: events that had committed before the activation get no job: further back is replay, said explicitly.
#[tokio::test]
async fn events_from_before_the_activation_get_none() {
    let shop = Shop::new().await;
    let old = shop.bare(only_events()).build().await.unwrap();
    publish(&old, "before").await;
    let new = shop.bare(counting()).build().await.unwrap();
    let worker = Running::start(&new);
    until_backfilled(&shop).await;
    publish(&old, "after").await;
    until(&shop, "the later one is handled", "select count(*) = 1 from :schema.job_succeeded").await;
    worker.stop().await;
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
}

/// S0-10: a pattern's subscriber is backfilled with the events that it means, of any version, and with no others.
#[tokio::test]
async fn a_pattern_is_backfilled_with_what_it_means() {
    let shop = Shop::new().await;
    let old = shop.bare(only_events()).build().await.unwrap();
    let mut tx = old.begin().await.unwrap();
    old.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    old.publish(&mut tx, &OrdersCounted).await.unwrap();
    let new = shop
        .bare(linking([
            on_any("orders.watch", "order.*"),
            on_any("all.watch", "*"),
            on("exact.count", "orders.counted"),
        ]))
        .build()
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let worker = Running::start(&new);
    until_backfilled(&shop).await;
    until(&shop, "all are handled", "select count(*) = 4 from :schema.job_succeeded").await;
    worker.stop().await;
    let mut notes = shop.script.notes();
    notes.retain(|note| note.contains(' '));
    notes.sort();
    assert_eq!(
        notes,
        [
            "all.watch order.placed",
            "all.watch orders.counted",
            "exact.count orders.counted",
            "orders.watch order.placed"
        ]
    );
}

/// Its name begins like another's, and it is another resource.
#[event("orders.counted")]
struct OrdersCounted;

/// S0-10: a job that has ended before the backfill came by, well or badly, is not written again.
#[tokio::test]
async fn a_job_that_has_ended_is_not_repeated() {
    let shop = Shop::new().await;
    let old = shop.bare(only_events()).build().await.unwrap();
    let (open, _) = begun(&old, "open").await;
    let new = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    shop.script.answers("notifications.confirm", [crate::support::Answer::With(Failure::quarantine("broken"))]);
    publish(&old, "fails").await;
    new.drain().await.unwrap();
    publish(&old, "succeeds").await;
    new.drain().await.unwrap();
    let jobs = shop.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.failed()), (1, 1));
    let worker = Running::start(&new);
    until_barrier(&shop).await;
    open.commit().await.unwrap();
    until_backfilled(&shop).await;
    until(&shop, "the open one is handled", "select count(*) = 2 from :schema.job_succeeded").await;
    worker.stop().await;
    let jobs = shop.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.failed(), jobs.len()), (2, 1, 3));
    assert_eq!(shop.sandbox.number("select count(distinct event_id) from :schema.job").await, 3);
}

/// S0-10: two processes whose upkeep meets the same activation, with more events than one batch holds, write each job once.
#[tokio::test]
async fn two_processes_backfill_each_job_once() {
    let shop = Shop::new().await;
    let old = shop.bare(only_events()).build().await.unwrap();
    let events: Vec<_> = (0..1_700).map(|n| OrderPlaced::of(format!("o{n}"))).collect();
    let mut open = old.begin().await.unwrap();
    old.publish_all(&mut open, &events).await.unwrap();
    let workers: [Outbox; 2] =
        [shop.bare(counting()).build().await.unwrap(), shop.bare(counting()).build().await.unwrap()];
    let running = workers.each_ref().map(Running::start);
    until_barrier(&shop).await;
    open.commit().await.unwrap();
    until_backfilled(&shop).await;
    until(&shop, "all are handled", "select count(*) = 1700 from :schema.job_succeeded").await;
    for worker in running {
        worker.stop().await;
    }
    assert_eq!(shop.sandbox.jobs().await.len(), 1_700);
    assert_eq!(shop.script.count("inventory.count"), 1_700);
}

/// S0-10: an activation after a retirement is an activation of its own: what was published while it was retired has no job, what
/// was open at the activation has one.
#[tokio::test]
async fn a_second_activation_is_backfilled_anew() {
    let shop = Shop::new().await;
    let new = shop.bare(counting()).build().await.unwrap();
    let worker = Running::start(&new);
    until_backfilled(&shop).await;
    worker.stop().await;
    new.retire("inventory.count").await.unwrap();
    publish(&new, "retired").await;
    let (open, missed) = begun(&new, "open").await;
    assert_eq!(missed.jobs, 0);
    new.activate("inventory.count").await.unwrap();
    open.commit().await.unwrap();
    let worker = Running::start(&new);
    until_backfilled(&shop).await;
    until(&shop, "the open one is handled", "select count(*) = 1 from :schema.job_succeeded").await;
    worker.stop().await;
    assert_eq!(shop.sandbox.jobs().await.only().event_id, Some(missed.event_id));
}

async fn repeatable_read(shop: &Shop, connection: &mut PgConnection) {
    sqlx::query("set transaction isolation level repeatable read").execute(&mut *connection).await.unwrap();
    let snapshot: i64 = sqlx::query_scalar(crate::sql::filled(&shop.sandbox, "select count(*) from :schema.effect"))
        .fetch_one(connection)
        .await
        .unwrap();
    assert_eq!(snapshot, 0);
}

/// S0-10: above READ COMMITTED a transaction whose snapshot is older than an activation is refused, as 40001 is, before it writes
/// anything; a new transaction publishes.
#[tokio::test]
async fn a_stale_snapshot_is_refused() {
    let shop = Shop::new().await;
    let old = shop.bare(only_events()).build().await.unwrap();
    let mut stale = old.begin().await.unwrap();
    repeatable_read(&shop, &mut stale).await;
    let new = shop.bare(counting()).build().await.unwrap();
    let worker = Running::start(&new);
    until_backfilled(&shop).await;
    worker.stop().await;
    let refused = old.publish(&mut stale, &OrderPlaced::of("stale")).key("k").await.unwrap_err();
    assert!(matches!(refused, PublishError::StaleSnapshot { name: "order.placed" }), "{refused}");
    assert!(refused.to_string().ends_with("retry the whole transaction"), "{refused}");
    assert_usable(stale, &shop.sandbox).await;
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
    assert_eq!(shop.sandbox.number("select count(*) from :schema.publish_key").await, 0);
    let mut again = old.begin().await.unwrap();
    sqlx::query("set transaction isolation level serializable").execute(&mut *again).await.unwrap();
    assert_eq!(old.publish(&mut again, &OrderPlaced::of("again")).key("k").await.unwrap().jobs, 1);
    again.commit().await.unwrap();
}

/// S0-10: a transaction with an old snapshot that publishes before the fence is set is let through, waited for, and backfilled.
#[tokio::test]
async fn a_stale_snapshot_before_the_fence_is_backfilled() {
    let shop = Shop::new().await;
    let old = shop.bare(only_events()).build().await.unwrap();
    let mut stale = old.begin().await.unwrap();
    repeatable_read(&shop, &mut stale).await;
    let new = shop.bare(counting()).build().await.unwrap();
    let missed = old.publish(&mut stale, &OrderPlaced::of("stale")).await.unwrap();
    assert_eq!(missed.jobs, 0);
    let worker = Running::start(&new);
    until_barrier(&shop).await;
    until_tried(&shop).await;
    assert!(!is_backfilled(&shop).await);
    stale.commit().await.unwrap();
    until_backfilled(&shop).await;
    until(&shop, "it is handled", "select count(*) = 1 from :schema.job_succeeded").await;
    worker.stop().await;
    assert_eq!(shop.sandbox.jobs().await.only().event_id, Some(missed.event_id));
}

/// S0-10: a transaction that has only read the application's tables, at whatever level, holds no backfill up for ever: one above
/// READ COMMITTED is refused when it publishes, so it need not be waited for.
#[tokio::test]
async fn an_old_reader_does_not_hold_the_backfill_up() {
    let shop = Shop::new().await;
    let mut reader = PgConnection::connect_with(&shop.sandbox.pool().connect_options()).await.unwrap();
    let mut reader = reader.begin().await.unwrap();
    repeatable_read(&shop, &mut reader).await;
    let new = shop.bare(counting()).build().await.unwrap();
    let worker = Running::start(&new);
    until_backfilled(&shop).await;
    worker.stop().await;
}
