//! What the tables say.

use std::collections::BTreeMap;

use serde::Serialize;
use sqlx::{PgPool, Row as _};

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) events: u64,
    pub(crate) pending: u64,
    pub(crate) running: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
}

impl Counts {
    pub(crate) async fn read(pool: &PgPool) -> Result<Self, sqlx::Error> {
        let row = sqlx::query(
            "select (select count(*) from system.event),
                    (select count(*) from system.job where status = 'pending'),
                    (select count(*) from system.job where status = 'running'),
                    (select count(*) from system.job where status = 'succeeded'),
                    (select count(*) from system.job where status = 'failed')",
        )
        .fetch_one(pool)
        .await?;
        let count = |column| row.try_get::<i64, _>(column).map(i64::unsigned_abs);
        Ok(Self { events: count(0)?, pending: count(1)?, running: count(2)?, succeeded: count(3)?, failed: count(4)? })
    }

    pub(crate) fn settled(&self) -> u64 {
        self.succeeded + self.failed
    }
}

/// How many workers of these names have announced themselves.
pub(crate) async fn announced(pool: &PgPool) -> Result<u64, sqlx::Error> {
    let count = sqlx::query_scalar("select count(*) from system.worker where dead_at is null");
    count.fetch_one(pool).await.map(i64::unsigned_abs)
}

/// How many jobs the worker of this name holds.
pub(crate) async fn held(pool: &PgPool, worker: &str) -> Result<u64, sqlx::Error> {
    let count = sqlx::query_scalar(
        "select count(*) from system.job
         where status = 'running' and locked_by in (select id from system.worker where name = $1)",
    );
    count.bind(worker).fetch_one(pool).await.map(i64::unsigned_abs)
}

/// What became of one subscriber's jobs.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Fate {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) live: u64,
    pub(crate) attempts: u64,
    /// How often a worker died that held one.
    pub(crate) rescued: u64,
}

/// What became of all jobs, by subscriber.
pub(crate) async fn fates(pool: &PgPool) -> Result<BTreeMap<String, Fate>, sqlx::Error> {
    let rows = sqlx::query(
        "select job_type, count(*) filter (where status = 'succeeded'), count(*) filter (where status = 'failed'),
                count(*) filter (where status in ('pending', 'running')), sum(attempts)::bigint, sum(crashes)::bigint
         from system.job group by job_type",
    );
    rows.fetch_all(pool).await?.iter().map(fate).collect()
}

fn fate(row: &sqlx::postgres::PgRow) -> Result<(String, Fate), sqlx::Error> {
    let count = |column| row.try_get::<i64, _>(column).map(i64::unsigned_abs);
    let fate =
        Fate { succeeded: count(1)?, failed: count(2)?, live: count(3)?, attempts: count(4)?, rescued: count(5)? };
    Ok((row.try_get(0)?, fate))
}

/// The effects of all subscribers, in the tables of the modules.
#[derive(Debug, Clone)]
pub(crate) struct Effects {
    pub(crate) orders_paid: u64,
    pub(crate) orders_published: u64,
    pub(crate) units_by_sku: BTreeMap<String, u64>,
    pub(crate) confirmations: u64,
    pub(crate) letters: u64,
    pub(crate) orders_written_to: u64,
    pub(crate) mail_requests: u64,
    pub(crate) revenue_cents: i128,
    /// Of the order's rows, by the database's own decimal arithmetic.
    pub(crate) revenue_of_lines: i128,
    pub(crate) pairs: u64,
    pub(crate) carts_resolved: u64,
}

impl Effects {
    pub(crate) async fn read(pool: &PgPool) -> anyhow::Result<Self> {
        let row = sqlx::query(include_str!("effects.sql")).fetch_one(pool).await?;
        let count = |column| row.try_get::<i64, _>(column).map(i64::unsigned_abs);
        let taken = sqlx::query_as("select sku, taken from inventory.stock where taken > 0");
        let taken: Vec<(String, i64)> = taken.fetch_all(pool).await?;
        Ok(Self {
            orders_paid: count("orders_paid")?,
            orders_published: count("orders_published")?,
            units_by_sku: taken.into_iter().map(|(sku, units)| (sku, units.unsigned_abs())).collect(),
            confirmations: count("confirmations")?,
            letters: count("letters")?,
            orders_written_to: count("orders_written_to")?,
            mail_requests: count("mail_requests")?,
            revenue_cents: row.try_get::<&str, _>("revenue_cents")?.parse()?,
            revenue_of_lines: row.try_get::<&str, _>("revenue_of_lines")?.parse()?,
            pairs: count("pairs")?,
            carts_resolved: count("carts_resolved")?,
        })
    }
}
