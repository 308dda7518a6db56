//! retention: what has ended and is old enough goes, bounded, and nothing else does.

use outbox::{BuildError, Retention};
use outbox_testing::{Sandbox, eventually};
use sqlx::{Executor, PgConnection};

use crate::floor::Worker;
use crate::sql::{code, filled, holds, refusal, texts};
use crate::support::Shop;

/// What one call of a chore came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Pruned {
    pub gone: i64,
    pub moved: i64,
    pub dropped: Option<String>,
    pub more: bool,
    pub held: bool,
}

pub const NOTHING: Pruned = Pruned { gone: 0, moved: 0, dropped: None, more: false, held: false };

/// One call, whether the chore is due or not.
pub async fn call(sandbox: &Sandbox, connection: &mut PgConnection, chore: &str, age: &str, most: i32) -> Pruned {
    let text = format!("select * from :schema.prune_{chore}('{age}', {most})");
    let row: (i64, i64, Option<String>, bool, bool) =
        sqlx::query_as(filled(sandbox, &text)).fetch_one(connection).await.unwrap();
    Pruned { gone: row.0, moved: row.1, dropped: row.2, more: row.3, held: row.4 }
}

/// One call of a chore that is due.
pub async fn prune_some(sandbox: &Sandbox, chore: &str, age: &str, most: i32) -> Pruned {
    sandbox.execute(&format!("update :schema.retention set due_at = '-infinity' where chore = '{chore}'")).await;
    call(sandbox, &mut sandbox.pool().acquire().await.unwrap(), chore, age, most).await
}

/// A whole pass, in pieces of `most`; answers rows that went, events that were moved, partitions that were dropped.
async fn prune_by(sandbox: &Sandbox, chore: &str, age: &str, most: i32) -> (i64, i64, usize) {
    let mut all = (0, 0, 0);
    loop {
        let some = prune_some(sandbox, chore, age, most).await;
        assert!(some.gone <= i64::from(most) && !some.held, "{some:?}");
        all = (all.0 + some.gone, all.1 + some.moved, all.2 + usize::from(some.dropped.is_some()));
        if !some.more {
            return all;
        }
    }
}

pub async fn prune(sandbox: &Sandbox, chore: &str, age: &str) -> (i64, i64, usize) {
    prune_by(sandbox, chore, age, 1000).await
}

/// A week of events so long ago.
pub async fn week(sandbox: &Sandbox, weeks_ago: i32) {
    let start = format!("date_trunc('week', now() - interval '{weeks_ago} weeks')");
    let make = format!(
        "do $$ begin perform set_config('timezone', 'UTC', true);
           perform :schema.ensure_partition('event', 'event_' || to_char({start}, 'YYYYMMDD'), 'id', :schema.ulid_floor({start})::text,
                                            :schema.ulid_floor({start} + interval '7 days')::text); end $$"
    );
    let path = format!("set local search_path to \"{}\", pg_temp; ", sandbox.schema());
    sandbox.execute(&format!("begin; {path}{make}; commit")).await;
}

/// A day of succeeded jobs so long ago.
async fn day(sandbox: &Sandbox, days_ago: i32) {
    let start = format!("date_trunc('day', now() - interval '{days_ago} days')");
    let make = format!(
        "do $$ begin perform set_config('timezone', 'UTC', true);
           perform :schema.ensure_partition('job_succeeded', 'job_succeeded_' || to_char({start}, 'YYYYMMDD'), 'completed_at',
                                            {start}::text, ({start} + interval '1 day')::text); end $$"
    );
    let path = format!("set local search_path to \"{}\", pg_temp; ", sandbox.schema());
    sandbox.execute(&format!("begin; {path}{make}; commit")).await;
}

/// An id of that age, an SQL expression.
pub fn id_of(age: &str) -> String {
    format!(
        "(left(:schema.ulid_floor(now() - interval '{age}')::text, 13) || substr(gen_random_uuid()::text, 14))::uuid"
    )
}

/// An order that was placed so long ago.
pub async fn event(sandbox: &Sandbox, age: &str, order: &str) -> String {
    let text = format!(
        "insert into :schema.event (id, occurred_at, event_type, event_version, subject_type, subject_id, payload)
         values ({}, now() - interval '{age}', 'order.placed', 1, 'order', '{order}', '{{\"order_id\": \"{order}\", \"units\": 1}}')
         returning id::text",
        id_of(age)
    );
    sqlx::query_scalar(filled(sandbox, &text)).fetch_one(sandbox.pool()).await.unwrap()
}

/// A finished job of an event, so long ago.
async fn finished(sandbox: &Sandbox, event: &str, status: &str, age: &str) {
    let text = format!(
        "insert into :schema.job_{status} (id, event_id, job_type, max_attempts, attempts, status, completed_at, created_at)
         values (gen_random_uuid(), '{event}', 'notifications.confirm', 3, 1, '{status}', now() - interval '{age}', now() - interval '{age}')"
    );
    sandbox.execute(&text).await;
}

pub async fn live(sandbox: &Sandbox, event: &str, due_in: &str) {
    let text = format!(
        "insert into :schema.job_live (id, event_id, job_type, max_attempts, available_at)
         values (gen_random_uuid(), '{event}', 'notifications.confirm', 3, now() + interval '{due_in}')"
    );
    sandbox.execute(&text).await;
}

pub async fn orders(sandbox: &Sandbox) -> Vec<String> {
    texts(sandbox, "select subject_id from :schema.event order by 1").await
}

/// Succeeded jobs go by whole days, those whose end is older than the age; the day on the edge stays, and so does what has not
/// succeeded, however old it is, and the event.
#[tokio::test]
async fn succeeded_jobs_go_by_whole_days() {
    let sandbox = Sandbox::new().await;
    for ago in [2, 6, 7, 8, 9, 30] {
        day(&sandbox, ago).await;
    }
    let old = event(&sandbox, "40 days", "old").await;
    for age in ["30 days", "9 days", "8 days", "7 days", "6 days", "2 days", "0 days"] {
        finished(&sandbox, &old, "succeeded", age).await;
    }
    finished(&sandbox, &old, "failed", "300 days").await;
    live(&sandbox, &old, "0 s").await;
    // Seven days ago lies within a day whose end is not that old.
    assert_eq!(prune(&sandbox, "succeeded", "7 days").await, (0, 0, 3));
    let left = "select count(*) from :schema.job_succeeded where completed_at > now() - interval '7 days 1 minute'";
    assert_eq!(sandbox.number(left).await, 4);
    assert_eq!(sandbox.number("select count(*) from :schema.job_succeeded").await, 4);
    assert_eq!(sandbox.number("select count(*) from :schema.job where status <> 'succeeded'").await, 2);
    assert_eq!(orders(&sandbox).await, ["old"]);
    assert_eq!(prune(&sandbox, "succeeded", "7 days").await, (0, 0, 0));
}

/// What lies in the default partition, because there was none of its day, goes row by row: the old ones, never more at once than
/// the limit.
#[tokio::test]
async fn succeeded_jobs_without_a_day_go_in_bounded_batches() {
    let sandbox = Sandbox::new().await;
    let some = "insert into :schema.job_succeeded (id, event_id, job_type, max_attempts, status, completed_at)
                select gen_random_uuid(), gen_random_uuid(), 'a.b', 1, 'succeeded', now() - i * interval '1 day'
                from generate_series(2, 6) i, generate_series(1, 500)";
    sandbox.execute(some).await;
    let homes = "select count(*) from :schema.job_succeeded_default";
    assert_eq!(sandbox.number(homes).await, 2500);
    assert_eq!(prune_by(&sandbox, "succeeded", "3 days 12:00", 70).await, (1500, 0, 0));
    assert_eq!(sandbox.number(homes).await, 1000);
}

/// Events go by whole weeks when nothing refers to them.
#[tokio::test]
async fn events_go_by_whole_weeks() {
    let sandbox = Sandbox::new().await;
    for ago in [3, 5, 6, 9] {
        week(&sandbox, ago).await;
    }
    for (age, order) in [("63 days", "nine"), ("42 days", "six"), ("21 days", "three"), ("1 minute", "now")] {
        event(&sandbox, age, order).await;
    }
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 0, 2 + usize::from(five_is_over(&sandbox).await)));
    assert_eq!(orders(&sandbox).await, ["now", "three"]);
}

/// Whether the week of five weeks ago ended more than thirty days ago, which depends on the day of the week.
async fn five_is_over(sandbox: &Sandbox) -> bool {
    holds(
        sandbox,
        "select date_trunc('week', now() - interval '5 weeks') + interval '7 days' <= now() - interval '30 days'",
    )
    .await
}

/// An event that a job refers to stays, whole, when its week goes: that of a job which waits for months, of a failed one, which is
/// still redriven then, and of one that succeeded late. Both have their message (S0-27).
#[tokio::test]
async fn an_event_that_a_job_refers_to_stays() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    let sandbox = &shop.sandbox;
    week(sandbox, 9).await;
    let [waits, failed, late] = ["waits", "failed", "late"];
    let waiting = event(sandbox, "63 days", waits).await;
    live(sandbox, &waiting, "-1 s").await;
    let broken = event(sandbox, "63 days", failed).await;
    finished(sandbox, &broken, "failed", "60 days").await;
    let done = event(sandbox, "63 days", late).await;
    finished(sandbox, &done, "succeeded", "0 days").await;
    event(sandbox, "63 days", "nobody").await;
    let before = texts(sandbox, "select e::text from :schema.event e where subject_id <> 'nobody' order by id").await;
    assert_eq!(prune(sandbox, "events", "30 days").await, (0, 3, 1));
    assert_eq!(texts(sandbox, "select e::text from :schema.event e order by id").await, before);
    assert_eq!(prune(sandbox, "events", "30 days").await, (0, 0, 0));

    let job = outbox.failed(1).await.unwrap().remove(0).id;
    outbox.redrive(job).await.unwrap();
    outbox.drain().await.unwrap();
    let keys = shop.script.notes();
    for order in [waits, failed] {
        assert!(keys.iter().any(|note| note.ends_with(&format!(" of {order}"))), "{keys:?}");
    }
    assert_eq!(prune(sandbox, "events", "30 days").await, (0, 0, 0), "they have succeeded just now");
    sandbox.execute("do $$ begin perform set_config('outbox.owner_work', 'on', true); delete from :schema.job_succeeded; end $$").await;
    assert_eq!(prune(sandbox, "events", "30 days").await, (3, 0, 0), "no job refers to them any more");
}

/// A week that very many jobs still refer to is left as it is, and keeps no other from going.
#[tokio::test]
async fn a_week_that_many_jobs_refer_to_stays_as_it_is() {
    let sandbox = Sandbox::new().await;
    for ago in [9, 10] {
        week(&sandbox, ago).await;
    }
    for order in ["a", "b", "c"] {
        let id = event(&sandbox, "70 days", order).await;
        live(&sandbox, &id, "1 year").await;
    }
    event(&sandbox, "63 days", "nobody").await;
    assert_eq!(prune_by(&sandbox, "events", "30 days", 2).await, (0, 0, 1));
    assert_eq!(orders(&sandbox).await, ["a", "b", "c"]);
    assert_eq!(sandbox.number("select count(*) from :schema.event_default").await, 0);
    assert_eq!(prune_by(&sandbox, "events", "30 days", 3).await, (0, 3, 1));
}

/// So does one whose events would take long to be kept apart, because publishers would wait meanwhile.
#[tokio::test]
async fn a_week_of_large_events_that_are_referred_to_stays_as_it_is() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    let large = format!(
        "with e as (insert into :schema.event (id, event_type, event_version, subject_type, subject_id, payload)
                    select {}, 'a.b', 1, 'a', 'large', to_jsonb((select string_agg(md5(random()::text), '') from generate_series(1, 40000)))
                    from generate_series(1, 16) returning id)
         insert into :schema.job_live (id, event_id, job_type, max_attempts) select gen_random_uuid(), id, 'a.b', 1 from e",
        id_of("63 days")
    );
    sandbox.execute(&large).await;
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 0, 0));
    sandbox.execute("delete from :schema.job_live where id <> (select id from :schema.job_live limit 1)").await;
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 1, 1));
}

/// What a backfill that is not complete has yet to look at stays: events from a day before the activation, and finished jobs
/// from it on, or it would write jobs that were there already.
#[tokio::test]
async fn an_unfinished_backfill_keeps_what_it_looks_at() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    day(&sandbox, 60).await;
    let old = event(&sandbox, "63 days", "old").await;
    finished(&sandbox, &old, "succeeded", "60 days").await;
    finished(&sandbox, &old, "failed", "60 days").await;
    let activated = "insert into :schema.subscription (handler, source, kind, max_attempts, priority, activated_at)
                     values ('a.b', '*', 'event', 1, 1, now() - interval '70 days')";
    sandbox.execute(activated).await;
    for (chore, age) in [("succeeded", "7 days"), ("failed", "30 days"), ("events", "30 days")] {
        assert_eq!(prune(&sandbox, chore, age).await, (0, 0, 0), "{chore}");
    }
    sandbox.execute("update :schema.subscription set backfilled_at = now()").await;
    assert_eq!(prune(&sandbox, "succeeded", "7 days").await, (0, 0, 1));
    assert_eq!(prune(&sandbox, "failed", "30 days").await, (1, 0, 0));
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 0, 1));
}

/// S0-27: failed jobs stay for their own long age and then go in bounded batches. The history of a job that is still there stays
/// with it, however old it is.
#[tokio::test]
async fn failed_jobs_and_their_history_go_behind_their_own_age() {
    let sandbox = Sandbox::new().await;
    let fill = "insert into :schema.job_failed (id, event_id, job_type, max_attempts, attempts, status, completed_at)
                select gen_random_uuid(), gen_random_uuid(), 'a.b', 1, 1, 'failed', now() - i * interval '10 days'
                from generate_series(1, 50) i;
                insert into :schema.attempt (job_id, claim_id, started_at, ended_at, attempt, outcome)
                select id, gen_random_uuid(), now(), completed_at - n * interval '1 hour', n, 'failed'
                from :schema.job_failed, generate_series(1, 3) n;
                insert into :schema.job_live (id, event_id, job_type, max_attempts) values (gen_random_uuid(), gen_random_uuid(), 'a.b', 9);
                insert into :schema.attempt (job_id, claim_id, started_at, ended_at, attempt, outcome)
                select id, gen_random_uuid(), now(), now() - interval '2 years', 1, 'retry' from :schema.job_live";
    sandbox.execute(fill).await;
    assert_eq!(prune_by(&sandbox, "attempts", "100 days", 7).await, (0, 0, 0), "their jobs are there");
    assert_eq!(prune_by(&sandbox, "failed", "365 days", 7).await, (14, 0, 0));
    assert_eq!(sandbox.number("select count(*) from :schema.job_failed").await, 36);
    assert_eq!(prune_by(&sandbox, "attempts", "365 days", 7).await, (14 * 3, 0, 0));
    assert_eq!(sandbox.number("select count(*) from :schema.attempt").await, 36 * 3 + 1);
}

/// An inbox mark and a publish key outlive their event and every job that can still run, and their own age; then they go in
/// bounded batches.
#[tokio::test]
async fn marks_and_keys_outlive_what_they_guard() {
    let sandbox = Sandbox::new().await;
    let there = event(&sandbox, "200 days", "there").await;
    let redriven = event(&sandbox, "200 days", "failed").await;
    let keys = ["gone", "young", "event", "event failed", "job live", "job failed"];
    let fill = format!(
        "insert into :schema.job_failed (id, event_id, job_type, max_attempts, attempts, status, completed_at)
         values (gen_random_uuid(), '{redriven}', 'a.b', 1, 1, 'failed', now());
         insert into :schema.job_live (id, job_type, max_attempts, payload) values (gen_random_uuid(), 'a.b', 1, '{{}}');
         insert into :schema.job_failed (id, job_type, max_attempts, attempts, status, completed_at, payload)
         values (gen_random_uuid(), 'a.b', 1, 1, 'failed', now(), '{{}}');
         insert into :schema.publish_key (event_type, key, event_id, created_at)
         values ('a.b', 'gone', {gone}, now() - interval '200 days'), ('a.b', 'young', {gone}, now()),
                ('a.b', 'event', '{there}', now() - interval '200 days'),
                ('a.b', 'event failed', '{redriven}', now() - interval '200 days'),
                ('job:a.b', 'job live', (select id from :schema.job_live), now() - interval '200 days'),
                ('job:a.b', 'job failed', (select id from :schema.job_failed where event_id is null), now() - interval '200 days');
         insert into :schema.inbox (handler, key, created_at) select key, event_id, created_at from :schema.publish_key",
        gone = id_of("200 days"),
    );
    sandbox.execute(&fill).await;
    let marks = "select handler from :schema.inbox order by 1";
    let published = "select key from :schema.publish_key order by 1";
    let mut kept = keys[1..].to_vec();
    kept.sort_unstable();
    for (chore, left) in [("inbox", marks), ("publish_keys", published)] {
        assert_eq!(prune(&sandbox, chore, "90 days").await, (1, 0, 0), "{chore}");
        assert_eq!(texts(&sandbox, left).await, kept, "{chore}");
    }
    // The events go, and the job that could be redriven; their marks follow.
    let removed = "do $$ begin perform set_config('outbox.owner_work', 'on', true);
                     delete from :schema.job_failed where event_id is not null; delete from :schema.event; end $$;
                   insert into :schema.inbox (handler, key, created_at)
                   select 'many', gen_random_uuid(), now() - interval '200 days' from generate_series(1, 1000);
                   insert into :schema.publish_key (event_type, key, event_id, created_at)
                   select 'many', i::text, gen_random_uuid(), now() - interval '200 days' from generate_series(1, 1000) i";
    sandbox.execute(removed).await;
    for (chore, left) in [("inbox", marks), ("publish_keys", published)] {
        assert_eq!(prune_by(&sandbox, chore, "90 days", 30).await, (1002, 0, 0), "{chore}");
        assert_eq!(texts(&sandbox, left).await, ["job failed", "job live", "young"], "{chore}");
    }
}

/// An age that is not safe is refused, by `build()` with all of them at once and by the database, whoever asks.
#[tokio::test]
async fn an_age_that_is_not_safe_is_refused() {
    let shop = Shop::new().await;
    let unsafe_ages = Retention::default().succeeded(0).events(0).failed(0).keys(0);
    let refused = shop.outbox(&["notifications.confirm"]).retention(unsafe_ages).build().await.unwrap_err();
    assert!(matches!(&refused, BuildError::Settings(faults) if faults.len() == 4), "{refused}");
    assert!(refused.to_string().contains("`.retention(..)`: `succeeded(0)` is not safe"), "{refused}");
    for (chore, age) in [
        ("succeeded", "0 days"),
        ("succeeded", "23 hours"),
        ("events", "6 days"),
        ("failed", "6 days"),
        ("attempts", "6 days"),
        ("inbox", "6 days"),
        ("publish_keys", "-1 days"),
    ] {
        let code = refusal(&shop.sandbox, &format!("select :schema.prune_{chore}('{age}')")).await;
        assert_eq!(code, "22023", "{chore} {age}");
        let code = refusal(&shop.sandbox, &format!("select :schema.prune_{chore}(null)")).await;
        assert_eq!(code, "22023", "{chore} null");
    }
}

/// An age beyond the calendar's beginning takes nothing away.
#[tokio::test]
async fn a_very_long_age_takes_nothing() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    event(&sandbox, "63 days", "old").await;
    for age in ["36500 days", "200000 days"] {
        assert_eq!(prune(&sandbox, "events", age).await, (0, 0, 0), "{age}");
    }
}

/// S0-3: what is final stays final for everybody else, also in the transaction in which something was pruned.
#[tokio::test]
async fn final_rows_stay_final_behind_a_prune() {
    let sandbox = Sandbox::new().await;
    let old = event(&sandbox, "63 days", "old").await;
    for (status, age) in [("failed", "2 days"), ("succeeded", "0 days"), ("failed", "400 days")] {
        finished(&sandbox, &old, status, age).await;
    }
    for (chore, table) in [("failed", "job_failed"), ("succeeded", "job_succeeded"), ("events", "event")] {
        let mut tx = sandbox.pool().begin().await.unwrap();
        call(&sandbox, &mut tx, chore, "30 days", 100).await;
        let removed = tx.execute(filled(&sandbox, &format!("delete from :schema.{table}"))).await.unwrap_err();
        assert_eq!(code(&removed), "23001", "{table}");
        tx.rollback().await.unwrap();
    }
}

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

/// A day of finished jobs from before the migration has no summary of its events: it gets one when nobody writes to it any more, and no
/// event goes before.
#[tokio::test]
async fn days_from_before_the_migration_are_summarised_first() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    day(&sandbox, 2).await;
    finished(&sandbox, &event(&sandbox, "63 days", "late").await, "succeeded", "2 days").await;
    event(&sandbox, "63 days", "nobody").await;
    let unsummarised = "do $$ declare it regclass; begin
      for it in select x.indexrelid from pg_index x join pg_inherits i on i.inhrelid = x.indrelid
                where i.inhparent = ':schema.job_succeeded'::regclass and pg_get_indexdef(x.indexrelid) like '%brin%'
                and i.inhrelid::regclass::text ~ to_char((now() - interval '2 days') at time zone 'UTC', 'YYYYMMDD')
      loop execute format('drop index %s', it); end loop; end $$";
    sandbox.execute(unsummarised).await;
    let first = prune_some(&sandbox, "events", "30 days", 100).await;
    assert_eq!(first, Pruned { more: true, ..NOTHING });
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 1, 1));
    assert_eq!(orders(&sandbox).await, ["late"]);
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
