//! retention: what has ended and is old enough goes, bounded, and nothing else does.

mod ages;
mod chores;
mod kept;
mod partitions;

use outbox_testing::Sandbox;
use sqlx::PgConnection;

use crate::sql::{filled, texts};

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
