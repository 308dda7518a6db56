//! What is still needed stays: events, history and marks for as long as something refers to them, and what a backfill has yet to look at.

use outbox_testing::Sandbox;
use sqlx::Executor;

use super::{call, day, event, finished, id_of, live, orders, prune, prune_by, week};
use crate::sql::{code, filled, texts};
use crate::support::Shop;

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
