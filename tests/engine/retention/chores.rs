//! A chore is done once when it is due, by a worker of itself, and reads little.

use outbox_testing::{Sandbox, eventually};
use sqlx::{Executor, PgConnection};

use super::{NOTHING, call, day, event, finished, id_of, week};
use crate::floor::Worker;
use crate::sql::{filled, texts};
use crate::support::Shop;

/// No chore reads a table as a whole, whatever the planner knows of it: jobs are asked for by their keys, finished ones by the summary of
/// their events, and a walk looks at some blocks at a time.
#[tokio::test]
async fn no_chore_reads_a_table_as_a_whole() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    let fill = format!(
        "insert into :schema.job_live (id, event_id, job_type, max_attempts)
         select gen_random_uuid(), gen_random_uuid(), 'a.b', 1 from generate_series(1, 20000);
         insert into :schema.job_succeeded (id, event_id, job_type, max_attempts, status, completed_at)
         select gen_random_uuid(), :schema.ulid_floor(now()), 'a.b', 1, 'succeeded', now() from generate_series(1, 20000);
         insert into :schema.job_failed (id, event_id, job_type, max_attempts, attempts, status, completed_at)
         select gen_random_uuid(), :schema.ulid_floor(now()), 'a.b', 1, 1, 'failed', now() from generate_series(1, 5000);
         insert into :schema.attempt (job_id, claim_id, started_at, ended_at, attempt, outcome)
         select gen_random_uuid(), gen_random_uuid(), now(), now() - interval '2 years', 1, 'failed' from generate_series(1, 5000);
         insert into :schema.inbox (handler, key, created_at)
         select 'a.b', gen_random_uuid(), now() - interval '200 days' from generate_series(1, 20000);
         insert into :schema.publish_key (event_type, key, event_id, created_at)
         select 'a.b', i::text, gen_random_uuid(), now() - interval '200 days' from generate_series(1, 20000) i;
         insert into :schema.event (id, occurred_at, event_type, event_version, subject_type, payload)
         select {}, now() - interval '{}', 'a.b', 1, 'a', '{{}}' from generate_series(1, 5000)",
        id_of("600 days"),
        "600 days",
    );
    sandbox.execute(&fill).await;
    let tables =
        ["job_live", "job_failed", "attempt", "inbox", "publish_key", "event_default"].map(|name| sandbox.table(name));
    let days = "select part::text from :schema.retention_partitions('job_succeeded') where low::timestamptz <= now()";
    let tables: Vec<_> = tables.into_iter().chain(texts(&sandbox, days).await).collect();
    let scans = async |connection: &mut PgConnection| {
        let text = "select sum(pg_stat_get_xact_numscans(t::regclass))::bigint from unnest($1::text[]) t";
        sqlx::query_scalar::<_, i64>(text).bind(&tables).fetch_one(connection).await.unwrap()
    };
    for chore in ["succeeded", "events", "failed", "attempts", "inbox", "publish_keys"] {
        let mut tx = sandbox.pool().begin().await.unwrap();
        // Beside its own, a session counts those of its earlier transactions that it has not reported yet, which it does once a second.
        let before = scans(&mut tx).await;
        for _ in 0..3 {
            let some = call(&sandbox, &mut tx, chore, "365 days", 500).await;
            assert!(some.gone <= 500, "{chore}: {some:?}");
        }
        assert_eq!(scans(&mut tx).await - before, 0, "{chore}");
        tx.rollback().await.unwrap();
    }
    let mut tx = sandbox.pool().begin().await.unwrap();
    let before = scans(&mut tx).await;
    tx.execute(filled(&sandbox, "select count(payload) from :schema.job_live")).await.unwrap();
    assert_eq!(scans(&mut tx).await - before, 1, "what is counted");
}

/// Nothing is done twice: a chore is done once an hour at most, whichever node asks.
#[tokio::test]
async fn a_chore_that_is_not_due_does_nothing() {
    let sandbox = Sandbox::new().await;
    finished(&sandbox, &event(&sandbox, "63 days", "old").await, "failed", "400 days").await;
    sandbox.execute("update :schema.retention set due_at = now() + interval '1 minute'").await;
    let mut connection = sandbox.pool().acquire().await.unwrap();
    assert_eq!(call(&sandbox, &mut connection, "failed", "365 days", 10).await, NOTHING);
    assert_eq!(sandbox.number("select count(*) from :schema.job_failed").await, 1);
}

/// A running worker does all of it by itself, with no setting said.
#[tokio::test]
async fn a_worker_prunes_by_itself() {
    let shop = Shop::new().await;
    let sandbox = &shop.sandbox;
    // The backfill of a first start reads the partitions, and a drop that meets its lock is put off by minutes.
    let worker = Worker::start(shop.outbox(&["notifications.confirm"]).build().await.unwrap());
    let pending = "select count(*) from :schema.subscription where backfilled_at is null";
    eventually("the backfill is complete", async || (sandbox.number(pending).await == 0).then_some(())).await;
    worker.stop().await;
    sandbox.execute("update :schema.retention set due_at = now()").await;
    week(sandbox, 9).await;
    day(sandbox, 30).await;
    let old = event(sandbox, "63 days", "old").await;
    finished(sandbox, &old, "succeeded", "30 days").await;
    finished(sandbox, &old, "failed", "400 days").await;
    sandbox
        .execute(
            "insert into :schema.inbox (handler, key, created_at) values ('a.b', gen_random_uuid(), now() - interval '200 days');
             insert into :schema.publish_key (event_type, key, event_id, created_at)
             values ('a.b', 'k', gen_random_uuid(), now() - interval '200 days');
             insert into :schema.attempt (job_id, claim_id, started_at, ended_at, attempt, outcome)
             values (gen_random_uuid(), gen_random_uuid(), now(), now() - interval '2 years', 1, 'failed')",
        )
        .await;
    // By the catalogue first: whoever reads the tables holds locks on their partitions, and a drop that meets one is put off.
    let partitions = format!(
        "select count(*) from pg_class where relnamespace = '\"{}\"'::regnamespace and relname in (
           'event_' || to_char(date_trunc('week', now() at time zone 'UTC' - interval '9 weeks'), 'YYYYMMDD'),
           'job_succeeded_' || to_char(now() at time zone 'UTC' - interval '30 days', 'YYYYMMDD'))",
        sandbox.schema()
    );
    assert_eq!(sandbox.number(&partitions).await, 2);
    let worker = Worker::start(shop.outbox(&["notifications.confirm"]).build().await.unwrap());
    eventually("the old partitions have gone", async || (sandbox.number(&partitions).await == 0).then_some(())).await;
    let left = "select (select count(*) from :schema.event) + (select count(*) from :schema.job) + (select count(*) from :schema.attempt)
                + (select count(*) from :schema.inbox) + (select count(*) from :schema.publish_key)";
    eventually("everything old has gone", async || (sandbox.number(left).await == 0).then_some(())).await;
    worker.stop().await;
}
