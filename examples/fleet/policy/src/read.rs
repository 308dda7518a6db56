//! Policies as they are now.

use contracts::{Money, PolicyState, Status};
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row as _};

use crate::refused::{Refused, Result};

/// Most policies of one page.
pub const PAGE: i64 = 1_000;

/// One policy, if it is there.
///
/// # Errors
/// When the database refuses.
pub async fn find(pool: &PgPool, policy_id: &str) -> Result<Option<PolicyState>> {
    let found =
        sqlx::query("select id, holder, premium_cents, currency, status, revision from policy.policies where id = $1");
    found.bind(policy_id).fetch_optional(pool).await?.as_ref().map(state).transpose()
}

/// Those behind this number, or from the first one on, in the order of their bytes.
///
/// # Errors
/// When the database refuses.
pub async fn page(pool: &PgPool, after: Option<&str>, most: i64) -> Result<Vec<PolicyState>> {
    let page = sqlx::query(
        "select id, holder, premium_cents, currency, status, revision from policy.policies
         where $1::text is null or id > $1 order by id limit $2",
    );
    page.bind(after).bind(most.clamp(1, PAGE)).fetch_all(pool).await?.iter().map(state).collect()
}

pub(crate) fn state(row: &PgRow) -> Result<PolicyState> {
    let status = Status::parse(row.try_get("status")?);
    Ok(PolicyState {
        policy_id: row.try_get("id")?,
        holder: row.try_get("holder")?,
        premium: Money { cents: row.try_get("premium_cents")?, currency: row.try_get("currency")? },
        status: status.ok_or_else(|| sqlx::Error::Decode("a status that no release has written".into()))?,
        revision: row.try_get("revision")?,
    })
}

/// Whether this can be a premium.
pub(crate) fn validate(premium: &Money) -> Result<()> {
    if premium.cents <= 0 {
        return Err(Refused::Invalid("a premium is more than nothing"));
    }
    if !["CHF", "EUR"].contains(&premium.currency.as_str()) {
        return Err(Refused::Invalid("a premium is in CHF or EUR"));
    }
    Ok(())
}
