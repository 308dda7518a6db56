//! A reader looks, an administrator decides.

use outbox::{OperationError, PublishError};

use crate::floor::{ask, fail};
use crate::linkage::only_events;
use crate::sql::code;
use crate::support::OrderPlaced;

use super::granted::{DENIED, FOR_THE_OWNER, Granted};

/// A reader sees states, counts, attempts and errors, by hand and in code, and neither payloads nor what else an application wrote
/// into a message; it writes nothing.
#[tokio::test]
async fn a_reader_sees_everything_but_payloads() {
    let it = Granted::new().await;
    let owner = it.floor.outbox(&["desk.once"]).build().await.unwrap();
    let event = ask(&owner, "a", [fail("boom")]).await;
    owner.drain().await.unwrap();
    let job = it.floor.job("desk.once", event).await;
    let pool = it.member("reader").await;
    let outbox = it.outbox(&pool, only_events()).build().await.unwrap();
    let failed = outbox.failed(10).await.unwrap();
    assert_eq!((failed.len(), failed[0].last_error.as_deref(), &*failed[0].message), (1, Some("boom"), "work.asked"));
    assert_eq!(outbox.unclaimed().await.unwrap(), []);
    it.assert_allowed(
        &pool,
        &[
            "select :schema.ulid(id), job_type, status, attempts, last_error from :schema.job where event_id = gen_random_uuid()",
            "select status, count(*) from :schema.job group by 1",
            "select job_type, count(*), min(available_at) from :schema.job_live where status = 'pending' and available_at <= now() group by 1",
            "select reason, crashes from :schema.job_failed union all select reason, crashes from :schema.job_succeeded",
            "select * from :schema.worker",
            "select * from :schema.attempt where job_id = :schema.from_ulid('01M8Z3NDEKTSV4RRFFQ69G5FAV') order by started_at",
            "select id, event_type, occurred_at from :schema.event",
            "select * from :schema.subscription",
            "select * from :schema.schedule",
            "select id, source, class, reason, event_id, event_type, event_version, times, first_at, last_at from :schema.quarantine",
        ],
    )
    .await;
    it.assert_denied(&pool, &FOR_THE_OWNER).await;
    for relation in ["job", "job_live", "job_succeeded", "job_failed"] {
        for column in ["payload", "metadata", "ordering_key", "*"] {
            it.assert_denied(&pool, &[&format!("select {column} from :schema.{relation}")]).await;
        }
    }
    it.assert_denied(
        &pool,
        &[
            "select payload from :schema.event",
            "select metadata from :schema.event",
            "select subject_id from :schema.event",
            "select id from :schema.event where payload = '{}'",
            "select body from :schema.quarantine",
            "select headers from :schema.quarantine",
            "select from :schema.quarantine where body = ''",
            "delete from :schema.quarantine",
            "update :schema.quarantine set times = 9",
            "select from :schema.publish_key",
            "select from :schema.inbox",
            "select :schema.run_schedule('night.scan')",
            "update :schema.schedule set paused_at = now()",
            "select reason from :schema.erasure",
            "update :schema.job_live set attempts = 0",
            "delete from :schema.job_live",
            "insert into :schema.job_live (id) values (null)",
            "insert into :schema.event (id) values (null)",
            "update :schema.worker set dead_at = now()",
            "update :schema.subscription set retired_at = now()",
        ],
    )
    .await;
    for refused in [outbox.redrive(job.id).await, outbox.cancel(job.id, "why").await, outbox.retire("desk.once").await]
    {
        assert!(matches!(&refused, Err(OperationError::Database(error)) if code(error) == DENIED), "{refused:?}");
    }
    let mut tx = outbox.begin().await.unwrap();
    let refused = outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap_err();
    assert!(matches!(&refused, PublishError::Database { source, .. } if code(source) == DENIED), "{refused}");
    assert!(format!("{refused:?}").contains("permission denied"), "{refused:?}");
}

/// An administrator reads payloads, redrives, cancels, retires and activates, and writes nothing in any other way.
#[tokio::test]
async fn an_admin_redrives_cancels_retires_and_reads_payloads() {
    let it = Granted::new().await;
    let owner = it.floor.outbox(&["desk.once", "desk.note", "night.scan"]).build().await.unwrap();
    let event = ask(&owner, "a", [fail("boom"), fail("boom"), fail("boom")]).await;
    owner.drain().await.unwrap();
    let pool = it.member("admin").await;
    let outbox = it.outbox(&pool, only_events()).build().await.unwrap();
    let failed = it.floor.job("desk.once", event).await;
    outbox.redrive(failed.id).await.unwrap();
    outbox.cancel(failed.id, "ann: a mistake").await.unwrap();
    let cancelled = it.floor.job("desk.once", event).await;
    assert_eq!(
        (cancelled.reason.as_deref(), cancelled.last_error.as_deref()),
        (Some("cancelled"), Some("ann: a mistake"))
    );
    outbox.redrive_by_force(failed.id).await.unwrap();
    assert_eq!(it.floor.job("desk.once", event).await.status, "pending");
    outbox.retire("desk.note").await.unwrap();
    outbox.activate("desk.note").await.unwrap();
    outbox.schedules().pause("night.scan").await.unwrap();
    outbox.schedules().resume("night.scan").await.unwrap();
    outbox.schedules().run_now("night.scan").await.unwrap();
    assert!(outbox.schedules().all().await.unwrap()[0].next_tick.is_some());
    it.assert_allowed(
        &pool,
        &[
            "select payload, metadata, subject_id from :schema.event",
            "select * from :schema.job",
            "select * from :schema.job_live",
            "select * from :schema.job_failed",
            "select * from :schema.job_succeeded",
            "select * from :schema.attempt, :schema.worker, :schema.subscription, :schema.inbox, :schema.publish_key, :schema.erasure",
            "select * from :schema.quarantine",
            "delete from :schema.quarantine where id = gen_random_uuid()",
        ],
    )
    .await;
    it.assert_denied(&pool, &FOR_THE_OWNER).await;
    it.assert_denied(
        &pool,
        &[
            "delete from :schema.job_live",
            "update :schema.job_live set attempts = 0",
            "insert into :schema.job_failed (id) values (null)",
            "insert into :schema.event (id) values (null)",
            "delete from :schema.subscription",
            "update :schema.quarantine set body = ''",
            "update :schema.subscription set max_attempts = 1",
            "update :schema.schedule set cadence = 'every 1s'",
            "update :schema.worker set dead_at = now()",
            "delete from :schema.inbox",
            "select setval(':schema.catalogue_fence', 1)",
            "select :schema.ensure_partitions()",
        ],
    )
    .await;
}
