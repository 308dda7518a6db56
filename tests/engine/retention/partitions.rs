//! Succeeded jobs go by whole days and events by whole weeks, as partitions.

use outbox_testing::Sandbox;

use super::{NOTHING, Pruned, day, event, finished, live, orders, prune, prune_by, prune_some, week};
use crate::sql::holds;

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
