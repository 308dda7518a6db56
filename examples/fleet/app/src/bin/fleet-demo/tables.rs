//! What the tables of both services say.

use std::collections::{BTreeMap, BTreeSet};

use contracts::{Money, PolicyState, Status};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgPool, Row as _};

/// The one number that a query answers.
pub(crate) async fn number(pool: &PgPool, sql: &str) -> anyhow::Result<i64> {
    Ok(sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await?)
}

/// The texts that a query answers.
pub(crate) async fn texts(pool: &PgPool, sql: &str) -> anyhow::Result<Vec<String>> {
    Ok(sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(pool).await?)
}

/// The ids of all events of these names.
pub(crate) async fn events(pool: &PgPool, pattern: &str) -> anyhow::Result<BTreeSet<String>> {
    let ids = sqlx::query_scalar("select id::text from system.event where event_type like $1");
    let ids: Vec<String> = ids.bind(pattern).fetch_all(pool).await?;
    Ok(ids.into_iter().collect())
}

/// Policies, there or here.
pub(crate) async fn policies(pool: &PgPool, schema: &str) -> anyhow::Result<BTreeMap<String, PolicyState>> {
    let sql = format!("select id, holder, premium_cents, currency, status, revision from {schema}.policies");
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(pool).await?;
    let states = rows.iter().map(|row| Ok((row.try_get("id")?, state(row)?)));
    states.collect()
}

fn state(row: &PgRow) -> anyhow::Result<PolicyState> {
    Ok(PolicyState {
        policy_id: row.try_get("id")?,
        holder: row.try_get("holder")?,
        premium: Money { cents: row.try_get("premium_cents")?, currency: row.try_get("currency")? },
        status: Status::parse(row.try_get("status")?).unwrap_or(Status::Active),
        revision: row.try_get("revision")?,
    })
}

/// What was charged, or noted, by policy: each a list, because nothing keeps it from being there twice.
pub(crate) async fn charges(pool: &PgPool, table: &str) -> anyhow::Result<BTreeMap<String, Vec<Money>>> {
    let sql = format!("select policy_id, cents, currency from {table}");
    let mut charges = BTreeMap::<_, Vec<_>>::new();
    for row in sqlx::query(AssertSqlSafe(sql)).fetch_all(pool).await? {
        let amount = Money { cents: row.try_get(1)?, currency: row.try_get(2)? };
        charges.entry(row.try_get(0)?).or_default().push(amount);
    }
    Ok(charges)
}

/// Jobs that have not ended.
pub(crate) async fn live_jobs(pool: &PgPool) -> anyhow::Result<i64> {
    number(pool, "select count(*) from system.job_live").await
}

/// Jobs that ended badly.
pub(crate) async fn failed_jobs(pool: &PgPool) -> anyhow::Result<i64> {
    number(pool, "select count(*) from system.job_failed").await
}
