//! A publisher publishes, and sees and alters nothing.

use std::time::Duration;

use outbox::SubscriberDescriptor;
use outbox_testing::Logs;
use sqlx::Connection;

use crate::enqueue::SendMail;
use crate::floor::Letter;
use crate::linkage::{linking, on, only_events};
use crate::support::{OrderPlaced, Script};

use super::granted::{DENIED, FOR_THE_OWNER, Granted};

/// A member of the publisher's role opens an outbox, publishes one and many, with and without keys, also above READ COMMITTED,
/// enqueues, and wakes the workers; a duplicate answers the first id.
#[tokio::test]
async fn a_publisher_publishes() {
    let it = Granted::new().await;
    let owner = it.outbox(it.floor.sandbox.pool(), linking([on("audit.watch", "order.*")])).build().await.unwrap();
    let outbox = it.outbox(&it.member("publisher").await, only_events()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let order = OrderPlaced::of("o1");
    let first = outbox.publish(&mut tx, &order).key("k1").actor("ann").await.unwrap();
    let second = outbox.publish(&mut tx, &order).key("k1").await.unwrap();
    assert_eq!((first.duplicate, second.duplicate, second.event_id), (false, true, first.event_id));
    assert_eq!(first.jobs, 1, "the catalogue's subscriber has its job");
    let many = outbox.publish_all(&mut tx, &[OrderPlaced::of("o2"), OrderPlaced::of("o3")]).keys(["k1", "k2"]).await;
    assert_eq!(many.unwrap().iter().map(|one| one.duplicate).collect::<Vec<_>>(), [true, false]);
    let mail = outbox.enqueue(&mut tx, &SendMail { to: "ann".into() }).key("m1").priority(0).await.unwrap();
    let again = outbox.enqueue(&mut tx, &SendMail { to: "ann".into() }).key("m1").await.unwrap();
    assert_eq!((mail.duplicate, again.duplicate, again.job_id), (false, true, mail.job_id));
    outbox.enqueue(&mut tx, &Letter { label: "l".into() }).delay(Duration::from_secs(1)).await.unwrap();
    tx.commit().await.unwrap();
    let mut connection = outbox.pool().acquire().await.unwrap();
    let mut tx = connection.begin_with("begin isolation level repeatable read").await.unwrap();
    outbox.publish(&mut tx, &order).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(it.floor.sandbox.jobs().await.len(), 5);
    assert_eq!(it.floor.sandbox.published::<OrderPlaced>().await.len(), 3);
    drop(owner);
}

/// A member of the publisher's role runs in-transaction subscribers, with no more than its own rights.
#[tokio::test]
async fn a_publisher_runs_in_transaction_subscribers() {
    let it = Granted::new().await;
    let keep = || SubscriberDescriptor { in_transaction: true, ..on("audit.keep", "order.placed") };
    let owner = it.outbox(it.floor.sandbox.pool(), linking([keep()])).build().await.unwrap();
    let script = Script::default();
    let outbox =
        it.outbox(&it.member("publisher").await, linking([keep()])).state(script.clone()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).key("k1").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(script.count("audit.keep"), 2);
    assert!(it.floor.sandbox.jobs().await.is_empty());
    drop(owner);
}

/// A publisher sees neither events nor jobs, alters none, and touches no worker, lease, catalogue or history. What it writes has
/// the state, time and transaction that the database gives it, and a key stays with the event that it was given to.
#[tokio::test]
async fn a_publisher_sees_and_alters_nothing() {
    let it = Granted::new().await;
    let owner = it.outbox(it.floor.sandbox.pool(), linking([on("audit.watch", "order.*")])).build().await.unwrap();
    let mut tx = owner.begin().await.unwrap();
    owner.publish(&mut tx, &OrderPlaced::of("o1")).key("k1").await.unwrap();
    tx.commit().await.unwrap();
    let pool = it.member("publisher").await;
    it.assert_denied(&pool, &FOR_THE_OWNER).await;
    let relations =
        ["event", "job", "job_live", "job_succeeded", "job_failed", "attempt", "worker", "inbox", "erasure"];
    for relation in relations {
        for text in ["select from :it", "select count(*) from :it", "update :it set id = null", "delete from :it"] {
            let text = text.replace(":it", &format!(":schema.{relation}"));
            assert!(matches!(it.answer(&pool, &text).await.as_deref(), Some(DENIED | "42703")), "{text}");
        }
    }
    let insert_event = "insert into :schema.event (id, event_type, event_version, subject_type, payload";
    let event = "gen_random_uuid(), 'a.b', 1, 'a', '{}'";
    let insert_job = "insert into :schema.job_live (id, event_id, job_type, max_attempts";
    let job = "gen_random_uuid(), gen_random_uuid(), 'a.b', 1";
    it.assert_allowed(&pool, &[&format!("{insert_event}) values ({event})"), &format!("{insert_job}) values ({job})")])
        .await;
    it.assert_denied(
        &pool,
        &[
            "select payload from :schema.event",
            &format!("{insert_event}) values ({event}) returning payload"),
            &format!("{insert_event}) values ({event}) on conflict (id) do update set payload = '{{}}'"),
            &format!("{insert_event}, occurred_at) values ({event}, now())"),
            &format!("{insert_event}, xid) values ({event}, '3')"),
            &format!("{insert_job}) values ({job}) returning status"),
            &format!("{insert_job}, status, claim_id) values ({job}, 'running', gen_random_uuid())"),
            &format!("{insert_job}, attempts) values ({job}, 7)"),
            "insert into :schema.job_failed (id) values (gen_random_uuid())",
            "insert into :schema.worker (id, name, ranges, expires_at) values (gen_random_uuid(), 'x', '{}', now())",
            "insert into :schema.attempt (job_id, claim_id, started_at, attempt, outcome)
             values (gen_random_uuid(), gen_random_uuid(), now(), 1, 'x')",
            "insert into :schema.inbox (handler, key) values ('a.b', gen_random_uuid())",
            "insert into :schema.subscription (handler, source, kind, max_attempts, priority) values ('a.b', '*', 'event', 1, 1)",
            "update :schema.subscription set retired_at = now()",
            "delete from :schema.subscription",
            "select setval(':schema.catalogue_fence', 1000000)",
            "delete from :schema.publish_key",
            "update :schema.publish_key set key = 'other'",
            "select created_at from :schema.publish_key",
            "select :schema.redrive(gen_random_uuid())",
            "select :schema.cancel(gen_random_uuid(), 'why')",
            "select :schema.ensure_partitions()",
            "select from :schema.schedule",
            "select :schema.run_schedule('night.scan')",
        ],
    )
    .await;
    let taken = it.answer(&pool, "update :schema.publish_key set event_id = gen_random_uuid()").await;
    assert_eq!(taken.as_deref(), Some("23001"), "a key is not taken away from its event");
}

/// A publisher that links subscribers, as one binary for every process does, opens without declaring them: its own events have
/// their jobs, and it says which of them the catalogue does not know yet.
#[tokio::test]
async fn a_publisher_declares_nothing_and_says_so() {
    let it = Granted::new().await;
    let registry = || linking([on("audit.watch", "order.*"), on("mail.send_it", "order.placed")]);
    let pool = it.member("publisher").await;
    let logs = Logs::warnings();
    let outbox = it.outbox(&pool, registry()).state(crate::support::Script::default()).build().await.unwrap();
    let said = logs.lines();
    assert!(said.len() == 1 && said[0].contains("audit.watch, mail.send_it"), "{said:?}");
    assert_eq!(it.floor.sandbox.number("select count(*) from :schema.subscription").await, 0);
    let mut tx = outbox.begin().await.unwrap();
    assert_eq!(outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap().jobs, 2);
    tx.commit().await.unwrap();
    let _worker =
        it.outbox(&it.member("worker").await, registry()).state(crate::support::Script::default()).build().await;
    it.outbox(&pool, registry()).state(crate::support::Script::default()).build().await.unwrap();
    assert_eq!(logs.lines().len(), 1, "once a worker has declared them, nothing is left to say");
}
