//! Policies as billing was told. Facts come in any order: each says all of what it tells, and its revision says which is the later.

use contracts::{Money, PolicyState, Status};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row as _};

/// Writes a policy down as it is told, unless something later is known of it.
///
/// # Errors
/// When the database refuses.
pub async fn put(tx: &mut PgConnection, told: &PolicyState) -> Result<(), sqlx::Error> {
    let put = sqlx::query(include_str!("projection_put.sql"));
    let put = put.bind(&told.policy_id).bind(&told.holder).bind(told.premium.cents).bind(&told.premium.currency);
    put.bind(told.status.as_str()).bind(told.revision).execute(tx).await.map(drop)
}

/// One policy, if it is known.
///
/// # Errors
/// When the database refuses.
pub async fn find(pool: &PgPool, policy_id: &str) -> Result<Option<PolicyState>, sqlx::Error> {
    let found = sqlx::query("select * from billing.policies where id = $1").bind(policy_id);
    found.fetch_optional(pool).await?.as_ref().map(state).transpose()
}

/// Those behind this number, or from the first one on, in the order of their bytes.
///
/// # Errors
/// When the database refuses.
pub async fn page(pool: &PgPool, after: Option<&str>, most: usize) -> Result<Vec<PolicyState>, sqlx::Error> {
    let page = sqlx::query("select * from billing.policies where $1::text is null or id > $1 order by id limit $2");
    let page = page.bind(after).bind(i64::try_from(most).unwrap_or(i64::MAX));
    page.fetch_all(pool).await?.iter().map(state).collect()
}

fn state(row: &PgRow) -> Result<PolicyState, sqlx::Error> {
    let status = Status::parse(row.try_get("status")?);
    Ok(PolicyState {
        policy_id: row.try_get("id")?,
        holder: row.try_get("holder")?,
        premium: Money { cents: row.try_get("premium_cents")?, currency: row.try_get("currency")? },
        status: status.ok_or_else(|| sqlx::Error::Decode("a status that no release has written".into()))?,
        revision: row.try_get("revision")?,
    })
}
