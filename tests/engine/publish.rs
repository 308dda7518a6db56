//! publish: what commits, what does not, and what is refused.

use std::time::Duration;

use outbox::PublishError;
use sqlx::types::chrono::{DateTime, Utc};
use sqlx::{Connection, Executor};

use crate::linkage::{linking, on, only_events};
use crate::sql::{assert_usable, filled, holds, text, texts};
use crate::support::{OrderPlaced, Shop, publish};
use crate::wire::Wire;

const BOTH: [&str; 2] = ["inventory.take", "notifications.confirm"];

/// S0-7, S0-9, S0-10, S0-12: one event and one job for each subscriber are there when the transaction has committed.
#[tokio::test]
async fn event_and_jobs_commit_with_the_transaction() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let published = publish(&outbox, "o1").await;
    assert_eq!((published.jobs, published.duplicate), (2, false));
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await, [OrderPlaced::of("o1")]);
    let jobs = shop.sandbox.jobs().await;
    assert_eq!(jobs.0.iter().map(|job| job.handler.as_str()).collect::<Vec<_>>(), BOTH);
    assert!(jobs.0.iter().all(|job| job.event_id == Some(published.event_id) && job.status == "pending"));
}

/// S2-14, S0-7: business row, event and jobs are invisible to everybody else until one commit shows them all, and carry one
/// transaction's number.
#[tokio::test]
async fn business_row_event_and_jobs_are_one_transaction() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    tx.execute(filled(&shop.sandbox, "insert into :schema.effect values ('orders', 'o1')")).await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    assert_eq!(shop.effects().await, 0);
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
    assert!(shop.sandbox.jobs().await.is_empty());
    tx.commit().await.unwrap();
    let writers = "select count(distinct xid) from (
                     select xmin::text as xid from :schema.effect union all select xmin::text from :schema.event
                     union all select (xid::text::bigint % 4294967296)::text from :schema.event
                     union all select xmin::text from :schema.job) t";
    assert_eq!(shop.sandbox.number(writers).await, 1);
    assert_eq!(shop.sandbox.jobs().await.len(), 2);
}

/// S0-8: neither event nor job exists when the transaction rolled back.
#[tokio::test]
async fn a_rollback_leaves_nothing() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    tx.rollback().await.unwrap();
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
    assert!(shop.sandbox.jobs().await.is_empty());
}

/// S0-8: a transaction that is dropped, as by an early return or a panic, leaves nothing either.
#[tokio::test]
async fn a_dropped_transaction_leaves_nothing() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).key("k").await.unwrap();
    drop(tx);
    // The key is free, which also waits for the rollback to be over.
    let mut tx = outbox.begin().await.unwrap();
    assert!(!outbox.publish(&mut tx, &OrderPlaced::of("o1")).key("k").await.unwrap().duplicate);
    tx.rollback().await.unwrap();
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
    assert!(shop.sandbox.jobs().await.is_empty());
}

/// S0-8: a savepoint that rolls back inside the caller's transaction takes event, jobs and key with it, and nothing else.
#[tokio::test]
async fn a_savepoint_that_rolls_back_leaves_nothing_and_frees_the_key() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let outer = outbox.publish(&mut tx, &OrderPlaced::of("outer")).await.unwrap();
    let mut savepoint = tx.begin().await.unwrap();
    outbox.publish(&mut savepoint, &OrderPlaced::of("inner")).key("k").await.unwrap();
    savepoint.rollback().await.unwrap();
    let mut savepoint = tx.begin().await.unwrap();
    let again = outbox.publish(&mut savepoint, &OrderPlaced::of("again")).key("k").await.unwrap();
    savepoint.commit().await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((again.duplicate, again.jobs), (false, 2));
    let mut events = shop.sandbox.published::<OrderPlaced>().await;
    events.sort_by(|one, other| one.order_id.cmp(&other.order_id));
    assert_eq!(events, [OrderPlaced::of("again"), OrderPlaced::of("outer")]);
    let jobs = shop.sandbox.jobs().await;
    assert_eq!(jobs.len(), 4);
    assert!(jobs.0.iter().all(|job| [Some(outer.event_id), Some(again.event_id)].contains(&job.event_id)));
}

/// S2-14, S2-67, S0-7: without an open transaction nothing is published, and the error says what to do.
#[tokio::test]
async fn without_a_transaction_nothing_is_published() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut connection = shop.sandbox.pool().acquire().await.unwrap();
    let refused = outbox.publish(&mut connection, &OrderPlaced::of("o1")).await.unwrap_err();
    assert!(matches!(refused, PublishError::NoTransaction { name: "order.placed" }), "{refused}");
    assert_eq!(
        refused.to_string(),
        "`order.placed` was not published: no transaction is open on this connection; begin one with `outbox.begin()` or \
         `pool.begin()` (a raw `BEGIN` does not count)"
    );
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
}

/// S0-7: a raw `BEGIN`, whose end nobody would see, is no transaction; nor is one that is over.
#[tokio::test]
async fn a_raw_begin_is_no_transaction() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut connection = shop.sandbox.pool().acquire().await.unwrap();
    connection.execute("begin").await.unwrap();
    let refused = outbox.publish(&mut connection, &OrderPlaced::of("o1")).await.unwrap_err();
    assert!(matches!(refused, PublishError::NoTransaction { .. }), "{refused}");
    connection.execute("rollback").await.unwrap();
    connection.begin().await.unwrap().commit().await.unwrap();
    let refused = outbox.publish_all(&mut connection, &[OrderPlaced::of("o1")]).await.unwrap_err();
    assert!(matches!(refused, PublishError::NoTransaction { .. }), "{refused}");
}

/// S0-7: the application's own sqlx transaction serves as well as `outbox.begin()`.
#[tokio::test]
async fn a_transaction_of_the_applications_pool_serves() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = shop.sandbox.pool().begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.len(), 2);
}

/// S0-9: every publish is one event of its own, also of the same value in the same transaction.
#[tokio::test]
async fn each_publish_inserts_exactly_one_event() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let first = outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    let second = outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    tx.commit().await.unwrap();
    assert_ne!(first.event_id, second.event_id);
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 2);
    assert_eq!(shop.sandbox.number("select count(distinct (event_id, job_type)) from :schema.job").await, 4);
}

/// S0-11: an event without a subscriber is stored, without a job and without an error.
#[tokio::test]
async fn an_event_without_a_subscriber_is_stored_alone() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&[]).build().await.unwrap();
    let published = publish(&outbox, "o1").await;
    assert_eq!((published.jobs, published.duplicate), (0, false));
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await.len(), 1);
    assert!(shop.sandbox.jobs().await.is_empty());
}

/// S0-16, S0-41: five handlers, two of them of one module, have exactly five jobs of one event, whose row says what it is about.
#[tokio::test]
async fn an_order_has_exactly_five_jobs() {
    let five = [
        "analytics.record",
        "automation.recommend",
        "automation.score",
        "inventory.decrement",
        "notifications.confirm_order",
    ];
    let shop = Shop::new().await;
    let registry = linking(
        five.map(|name| on(name, "order.placed")).into_iter().chain([on("search.index", "product.catalogued")]),
    );
    let outbox = shop.bare(registry.with_subscribers(|one| one.name != "search.index")).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    tx.execute(filled(&shop.sandbox, "insert into :schema.effect values ('orders', 'paid')")).await.unwrap();
    let published = outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(published.jobs, 5);
    let jobs = shop.sandbox.jobs().await;
    assert_eq!(jobs.0.iter().map(|job| job.handler.as_str()).collect::<Vec<_>>(), five);
    assert!(jobs.0.iter().all(|job| job.event_id == Some(published.event_id)));
    let row = "select subject_type || ' ' || subject_id || ' ' || (payload ->> 'units') from :schema.event";
    assert_eq!(text(&shop.sandbox, row).await, "order o1 1");
    outbox.drain().await.unwrap();
    assert!(five.iter().all(|handler| shop.script.count(handler) == 1), "{:?}", shop.script.notes());
}

/// S0-14, S0-15: a further subscriber is one more entry of the registry: no table, no queue and nothing at the publisher changes.
#[tokio::test]
async fn a_further_subscriber_is_one_more_entry() {
    let shop = Shop::new().await;
    let publisher = shop.bare(only_events()).build().await.unwrap();
    shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    assert_eq!(publish(&publisher, "o1").await.jobs, 1);
    let tables =
        format!("select count(*) from pg_class where relnamespace = '\"{}\"'::regnamespace", shop.sandbox.schema());
    let before = shop.sandbox.number(&tables).await;
    let both = linking([on("inventory.count", "order.placed"), on("search.index", "order.placed")]);
    let worker = shop.bare(both).build().await.unwrap();
    assert_eq!(publish(&publisher, "o2").await.jobs, 2);
    assert_eq!(shop.sandbox.number(&tables).await, before);
    worker.drain().await.unwrap();
    assert_eq!((shop.script.count("inventory.count"), shop.script.count("search.index")), (2, 1));
}

/// S0-7, S0-10: a publish is one statement and one round trip, with a key and without, whether it has no subscriber, one, or fifty; the
/// first two on a connection prepare their statements before.
#[tokio::test]
async fn a_publish_is_one_round_trip_whatever_the_number_of_subscribers() {
    const NAMES: [&str; 50] = {
        const fn name(n: usize) -> &'static str {
            const ALL: &str = "m.h00m.h01m.h02m.h03m.h04m.h05m.h06m.h07m.h08m.h09m.h10m.h11m.h12m.h13m.h14m.h15m.h16\
                m.h17m.h18m.h19m.h20m.h21m.h22m.h23m.h24m.h25m.h26m.h27m.h28m.h29m.h30m.h31m.h32m.h33m.h34m.h35m.h36\
                m.h37m.h38m.h39m.h40m.h41m.h42m.h43m.h44m.h45m.h46m.h47m.h48m.h49";
            ALL.split_at(n * 5).1.split_at(5).0
        }
        let mut names = [""; 50];
        let mut n = 0;
        while n < 50 {
            names[n] = name(n);
            n += 1;
        }
        names
    };
    for subscribers in [0, 1, 50] {
        let shop = Shop::new().await;
        let wire = Wire::default();
        let pool = wire.pool(&shop.sandbox).await;
        let registry = linking(NAMES[..subscribers].iter().map(|name| on(name, "order.placed")));
        let outbox = shop.sandbox.outbox_on(pool).registry(registry).poll_only().build().await.unwrap();
        let mut tx = outbox.begin().await.unwrap();
        outbox.publish(&mut tx, &OrderPlaced::of("first")).await.unwrap();
        outbox.publish(&mut tx, &OrderPlaced::of("first by what is known")).await.unwrap();
        outbox.publish(&mut tx, &OrderPlaced::of("first with a key")).key("first").await.unwrap();
        wire.take();
        outbox.publish(&mut tx, &OrderPlaced::of("second")).await.unwrap();
        let sent = wire.take();
        assert_eq!((sent.statements(), sent.round_trips()), (1, 1), "{sent:?}");
        let published = outbox
            .publish(&mut tx, &OrderPlaced::of("o1"))
            .key("k")
            .actor("ann")
            .header("a", "b")
            .delay(Duration::from_secs(1))
            .await
            .unwrap();
        let sent = wire.take();
        assert_eq!(published.jobs, subscribers as u64);
        assert_eq!((sent.statements(), sent.round_trips()), (1, 1), "{sent:?}");
        tx.commit().await.unwrap();
        let sent = wire.take();
        assert_eq!((sent.statements(), sent.round_trips()), (1, 1), "only COMMIT, no second write: {sent:?}");
        assert_eq!(shop.sandbox.jobs().await.len(), 5 * subscribers);
    }
}

/// What is refused before it is sent costs nothing on the wire.
#[tokio::test]
async fn a_refused_publish_sends_nothing() {
    let shop = Shop::new().await;
    let wire = Wire::default();
    let pool = wire.pool(&shop.sandbox).await;
    let registry = only_events();
    let outbox = shop.sandbox.outbox_on(pool).registry(registry).poll_only().build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    wire.take();
    outbox.publish(&mut tx, &OrderPlaced::of("nul \0")).await.unwrap_err();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).key("nul \0").await.unwrap_err();
    outbox.publish_all(&mut tx, &[OrderPlaced::of("fine"), OrderPlaced::of("nul \0")]).await.unwrap_err();
    outbox.publish_all::<OrderPlaced>(&mut tx, &[]).await.unwrap();
    assert_eq!(wire.take().0, "");
}

/// S0-2: the context that a publish is given is stored with the event, and only what was given.
#[tokio::test]
async fn the_context_is_stored_with_the_event() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&[]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("bare")).await.unwrap();
    outbox
        .publish(&mut tx, &OrderPlaced::of("full"))
        .actor("ann")
        .tenant("acme")
        .correlation("request 7")
        .header("ip", "::1")
        .header("ip", "::2")
        .header("agent", "curl")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let stored = texts(&shop.sandbox, "select metadata::text from :schema.event order by subject_id").await;
    let stored: Vec<serde_json::Value> = stored.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let full = serde_json::json!({
        "actor": "ann", "tenant": "acme", "correlation": "request 7", "headers": {"ip": "::2", "agent": "curl"}
    });
    assert_eq!(stored, [serde_json::json!({}), full]);
}

/// S0-18: jobs of a delayed publish are due that long after its statement, and no worker takes them before.
#[tokio::test]
async fn a_delay_counts_from_the_statement() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).delay(Duration::from_mins(10)).await.unwrap();
    tx.commit().await.unwrap();
    let exact = "select bool_and(j.available_at = e.occurred_at + interval '10 min')
                 from :schema.job j join :schema.event e on e.id = j.event_id";
    assert!(holds(&shop.sandbox, exact).await);
    assert_eq!(outbox.drain().await.unwrap().executions, 0);
}

/// S0-18: a moment before which a job is not due is compared by the database's clock; one that has passed changes nothing, and
/// of a delay and a moment the later one counts.
#[tokio::test]
async fn a_job_is_due_at_the_later_of_delay_and_moment() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    let later: DateTime<Utc> = "2100-01-02T03:04:05Z".parse().unwrap();
    let past: DateTime<Utc> = "2000-01-02T03:04:05Z".parse().unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("a")).not_before(later).delay(Duration::from_secs(9)).await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("b")).not_before(past).await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("c")).not_before(past).delay(Duration::from_hours(1)).await.unwrap();
    tx.commit().await.unwrap();
    let due =
        "select case j.available_at when '2100-01-02T03:04:05Z' then 'at the moment' when e.occurred_at then 'at once'
                 when e.occurred_at + interval '1 hour' then 'delayed' else j.available_at::text end
               from :schema.job j join :schema.event e on e.id = j.event_id order by e.subject_id";
    assert_eq!(texts(&shop.sandbox, due).await, ["at the moment", "at once", "delayed"]);
    assert_eq!(outbox.drain().await.unwrap().executions, 1);
}

/// B27, S0-18: a publish late in a long transaction is due from its own statement on, not from the transaction's start; so is
/// its delay. No time is taken from the transaction's start.
#[tokio::test]
async fn a_long_transactions_jobs_are_not_older_than_their_publish() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let start: DateTime<Utc> = sqlx::query_scalar("select now()").fetch_one(&mut *tx).await.unwrap();
    // What is waited for is a state too: the database's clock has moved on.
    let mark: DateTime<Utc> =
        sqlx::query_scalar("select clock_timestamp() from pg_sleep(0.05)").fetch_one(&mut *tx).await.unwrap();
    assert!(start < mark);
    outbox.publish(&mut tx, &OrderPlaced::of("now")).await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("soon")).delay(Duration::from_secs(1)).await.unwrap();
    tx.commit().await.unwrap();
    let late = |delay: &str| {
        format!(
            "select bool_and(j.available_at >= '{mark}'::timestamptz + interval '{delay}' and e.occurred_at >= '{mark}'
               and j.created_at >= '{mark}' and j.available_at <= clock_timestamp() + interval '{delay}')
             from :schema.job j join :schema.event e on e.id = j.event_id where e.subject_id = "
        )
    };
    assert!(holds(&shop.sandbox, &format!("{} 'now'", late("0 s"))).await);
    assert!(holds(&shop.sandbox, &format!("{} 'soon'", late("1 s"))).await);
}

/// Delays and moments that no calendar holds are taken for the latest there is, instead of aborting the transaction.
#[tokio::test]
async fn no_delay_and_no_moment_aborts_the_transaction() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("a")).delay(Duration::MAX).await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("b")).not_before(DateTime::<Utc>::MAX_UTC).await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("c")).not_before(DateTime::<Utc>::MIN_UTC).await.unwrap();
    assert_usable(tx, &shop.sandbox).await;
    assert_eq!(outbox.drain().await.unwrap().executions, 1, "only the one whose moment has passed is due");
    assert!(
        holds(&shop.sandbox, "select bool_and(available_at > now() + interval '1000 years') from :schema.job_live")
            .await
    );
}

/// When the database refuses the statement, the error names the event and keeps what the database said.
#[tokio::test]
async fn a_statement_that_fails_is_an_error_with_its_cause() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    tx.execute("select 1/0").await.unwrap_err();
    let refused = outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap_err();
    assert_eq!(refused.to_string(), "`order.placed` was not published: the database refused the statement");
    let cause = std::error::Error::source(&refused).unwrap().to_string();
    assert!(cause.contains("current transaction is aborted"), "{cause}");
}

/// S0-1: without its tables a publish says so, and what to do.
#[tokio::test]
async fn without_tables_the_error_says_to_migrate() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let schema = shop.sandbox.schema();
    shop.sandbox.execute(&format!("drop schema \"{schema}\" cascade")).await;
    let mut tx = outbox.begin().await.unwrap();
    let refused = outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap_err();
    assert!(matches!(&refused, PublishError::NotMigrated { schema: named, .. } if named == schema), "{refused}");
    assert!(refused.to_string().ends_with("run `outbox::migrate(&pool)` first"), "{refused}");
}
