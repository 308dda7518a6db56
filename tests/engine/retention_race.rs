//! retention beside everything else: open publishers, other nodes, a death in the middle.

use outbox_testing::fault::Session;
use outbox_testing::{Sandbox, eventually};
use sqlx::Executor;

use crate::retention::{NOTHING, Pruned, call, event, id_of, live, orders, prune, prune_some, week};
use crate::sql::{filled, holds, pid};
use crate::support::{Shop, publish};

const HELD: Pruned = Pruned { held: true, ..NOTHING };

/// An event whose publisher is still open, with an id of long ago, keeps its week, and so do its jobs when it has committed.
#[tokio::test]
async fn an_open_publisher_keeps_its_week() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    event(&sandbox, "63 days", "nobody").await;
    let mut open = sandbox.pool().begin().await.unwrap();
    let late = format!(
        "with e as (insert into :schema.event (id, event_type, event_version, subject_type, subject_id, payload)
                    values ({}, 'order.placed', 1, 'order', 'late', '{{}}') returning id)
         insert into :schema.job_live (id, event_id, job_type, max_attempts) select gen_random_uuid(), id, 'a.b', 1 from e",
        id_of("63 days")
    );
    open.execute(filled(&sandbox, &late)).await.unwrap();
    assert_eq!(prune_some(&sandbox, "events", "30 days", 100).await, HELD);
    assert_eq!(orders(&sandbox).await, ["nobody"]);
    let later = "select due_at > now() + interval '4 minutes' from :schema.retention where chore = 'events'";
    assert!(holds(&sandbox, later).await, "it is put off");
    open.commit().await.unwrap();
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 1, 1));
    assert_eq!(orders(&sandbox).await, ["late"]);
}

/// What commits while the week is being asked for has been seen when the week goes: it is asked again behind the lock.
#[tokio::test]
async fn what_commits_behind_the_first_look_is_seen() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    // On a busy machine the lock may be given up before the other has committed; then the same is tried again.
    let done = loop {
        sandbox.execute("delete from :schema.job_live").await;
        let mut open = sandbox.pool().begin().await.unwrap();
        let late = format!(
            "with e as (insert into :schema.event (id, event_type, event_version, subject_type, subject_id, payload)
                        values ({}, 'order.placed', 1, 'order', 'late', '{{}}') returning id)
             insert into :schema.job_live (id, event_id, job_type, max_attempts) select gen_random_uuid(), id, 'a.b', 1 from e",
            id_of("63 days")
        );
        open.execute(filled(&sandbox, &late)).await.unwrap();
        let mut node = sandbox.pool().acquire().await.unwrap();
        let process = pid(&mut node).await;
        let looked = async {
            sandbox.execute("update :schema.retention set due_at = '-infinity'").await;
            call(&sandbox, &mut node, "events", "30 days", 100).await
        };
        let committed = async {
            let waits = "select coalesce(wait_event_type = 'Lock', false) from pg_stat_activity where pid = $1";
            let later = "select due_at > now() from :schema.retention where chore = 'events'";
            eventually("it waits, or has given up", async || {
                let waits: bool = sqlx::query_scalar(waits).bind(process).fetch_one(sandbox.pool()).await.unwrap();
                (waits || holds(&sandbox, later).await).then_some(())
            })
            .await;
            open.commit().await.unwrap();
        };
        let (done, ()) = tokio::join!(looked, committed);
        if !done.held {
            break done;
        }
    };
    assert_eq!((done.moved, done.dropped.is_some()), (1, true));
    let kept = "select count(*) from :schema.event e join :schema.job_live l on l.event_id = e.id";
    assert_eq!(sandbox.number(kept).await, 1);
}

/// Who holds a table for long is not waited for, and nobody waits behind the request for longer than a moment.
#[tokio::test]
async fn a_lock_puts_it_off_and_publishers_go_on() {
    let shop = Shop::new().await;
    let sandbox = &shop.sandbox;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    week(sandbox, 9).await;
    sandbox.execute("alter table :schema.job_succeeded detach partition :schema.job_succeeded_default").await;
    let old = "create table :schema.long_ago partition of :schema.job_succeeded for values from ('2001-01-01 UTC') to ('2001-01-02 UTC')";
    sandbox.execute(old).await;
    sandbox.execute("alter table :schema.job_succeeded attach partition :schema.job_succeeded_default default").await;
    let url = Sandbox::server_url().await;
    for (chore, table) in [("succeeded", "job_succeeded"), ("events", "event")] {
        let session = Session::lock_table(&url, &sandbox.table(table), "access share").await.unwrap();
        assert_eq!(prune_some(sandbox, chore, "30 days", 100).await, HELD, "{chore}");
        publish(&outbox, "beside").await;
        session.rollback().await.unwrap();
        assert_eq!(prune(sandbox, chore, "30 days").await, (0, 0, 1), "{chore}");
    }
    outbox.drain().await.unwrap();
    assert_eq!(sandbox.jobs().await.succeeded(), 2);
}

/// While partitions are made, or roles granted, none is dropped.
#[tokio::test]
async fn nothing_is_dropped_beside_a_change_of_the_partitions() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    let mut other = sandbox.pool().begin().await.unwrap();
    let lock = format!("select pg_advisory_xact_lock(hashtextextended('outbox partitions {}', 0))", sandbox.schema());
    other.execute(sqlx::AssertSqlSafe(lock)).await.unwrap();
    assert_eq!(prune_some(&sandbox, "events", "30 days", 100).await, HELD);
    other.rollback().await.unwrap();
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 0, 1));
}

/// Of two nodes that come to a chore at once one does it and the other goes on, without waiting. A node that dies in the middle
/// leaves everything as it was, and the chore to the next.
#[tokio::test]
async fn one_node_at_a_time_and_a_dead_one_leaves_it_to_the_next() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    let delayed = event(&sandbox, "63 days", "delayed").await;
    live(&sandbox, &delayed, "1 year").await;
    event(&sandbox, "63 days", "nobody").await;
    let mut first = sandbox.pool().begin().await.unwrap();
    let done = call(&sandbox, &mut first, "events", "30 days", 100).await;
    assert_eq!((done.moved, done.dropped.is_some()), (1, true));
    let mut second = sandbox.pool().acquire().await.unwrap();
    second.execute("set lock_timeout = '50ms'").await.unwrap();
    assert_eq!(call(&sandbox, &mut second, "events", "30 days", 100).await, NOTHING);
    // It is killed before it could commit.
    let process = pid(&mut first).await;
    sqlx::query("select pg_terminate_backend($1, 5000)").bind(process).execute(&mut *second).await.unwrap();
    drop(first);
    assert_eq!(orders(&sandbox).await, ["delayed", "nobody"]);
    let done = call(&sandbox, &mut second, "events", "30 days", 100).await;
    assert_eq!((done.moved, done.dropped.is_some(), done.more), (1, true, true));
    assert_eq!(orders(&sandbox).await, ["delayed"]);
}

/// A job that is redriven or settled at the moment at which its event's week goes is in one place or the other, and its event stays.
#[tokio::test]
async fn a_job_that_moves_meanwhile_keeps_its_event() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    let moves = event(&sandbox, "63 days", "moves").await;
    let failed = format!(
        "insert into :schema.job_failed (id, event_id, job_type, max_attempts, attempts, status, completed_at)
         values (gen_random_uuid(), '{moves}', 'a.b', 1, 1, 'failed', now() - interval '60 days')"
    );
    sandbox.execute(&failed).await;
    // Redriven, and not committed yet: it is seen as failed.
    let mut open = sandbox.pool().begin().await.unwrap();
    open.execute(filled(&sandbox, "select :schema.redrive(id) from :schema.job_failed")).await.unwrap();
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 1, 1));
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 0, 0));
    open.commit().await.unwrap();
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 0, 0), "it is live");
    // Settled, and not committed yet: it is seen as live.
    let mut open = sandbox.pool().begin().await.unwrap();
    let settled = "with gone as (delete from :schema.job_live returning id, event_id, job_type)
                   insert into :schema.job_succeeded (id, event_id, job_type, max_attempts, status, completed_at)
                   select id, event_id, job_type, 1, 'succeeded', now() from gone";
    open.execute(filled(&sandbox, settled)).await.unwrap();
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 0, 0));
    open.commit().await.unwrap();
    assert_eq!(prune(&sandbox, "events", "30 days").await, (0, 0, 0), "it has succeeded just now");
    assert_eq!(orders(&sandbox).await, ["moves"]);
}

/// A failed job that is being redriven is not taken away under the operator's hands, and nobody waits for him.
#[tokio::test]
async fn a_failed_job_that_is_being_redriven_stays() {
    let sandbox = Sandbox::new().await;
    let failed = "insert into :schema.job_failed (id, event_id, job_type, max_attempts, attempts, status, completed_at)
                  select gen_random_uuid(), gen_random_uuid(), 'a.b', 1, 1, 'failed', now() - interval '2 years' from generate_series(1, 3)";
    sandbox.execute(failed).await;
    let mut open = sandbox.pool().begin().await.unwrap();
    open.execute(filled(&sandbox, "select :schema.redrive(id) from (select id from :schema.job_failed limit 1) f"))
        .await
        .unwrap();
    assert_eq!(prune(&sandbox, "failed", "365 days").await, (2, 0, 0));
    open.commit().await.unwrap();
    assert_eq!(sandbox.number("select count(*) from :schema.job_live").await, 1);
}

/// A duplicate that has its key's row locked keeps the key, and one that comes while the key goes is a publish of its own.
#[tokio::test]
async fn a_key_that_a_publisher_asks_for_stays() {
    let sandbox = Sandbox::new().await;
    let key = "insert into :schema.publish_key (event_type, key, event_id, created_at)
               values ('a.b', 'k', gen_random_uuid(), now() - interval '200 days')";
    sandbox.execute(key).await;
    let mut open = sandbox.pool().begin().await.unwrap();
    let asked =
        "insert into :schema.publish_key as k (event_type, key, event_id) values ('a.b', 'k', gen_random_uuid())
                 on conflict (event_type, key) do update set event_id = k.event_id";
    open.execute(filled(&sandbox, asked)).await.unwrap();
    assert_eq!(prune(&sandbox, "publish_keys", "90 days").await, (0, 0, 0));
    open.commit().await.unwrap();
    assert_eq!(prune(&sandbox, "publish_keys", "90 days").await, (1, 0, 0));
}
