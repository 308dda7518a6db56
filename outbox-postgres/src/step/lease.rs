//! lease: take, renew, release and fence. Each is one statement, and harmless when its answer is lost and it is sent again: a lease
//! that was taken without its taker's knowledge ends by itself.

use std::time::Duration;

use sqlx::{PgConnection, Row as _};

use super::millis;
use crate::schema::{Schema, Statement};

/// The statements, in one schema.
#[derive(Debug, Clone)]
pub(crate) struct LeaseStatements {
    take: Statement,
    renew: Statement,
    release: Statement,
    fence: Statement,
}

/// What an attempt to take a lease came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Take {
    /// It is the caller's, under this token.
    Taken(i64),
    /// Somebody else has it, for so much longer unless it is renewed.
    Held { holder: String, left: Duration },
}

impl LeaseStatements {
    pub(crate) fn new(schema: &Schema) -> Self {
        Self {
            take: schema.fill(include_str!("lease_take.sql")),
            renew: schema.fill(include_str!("lease_renew.sql")),
            release: schema.fill(include_str!("lease_release.sql")),
            fence: schema.fill(include_str!("lease_fence.sql")),
        }
    }

    pub(crate) async fn take(
        &self,
        connection: &mut PgConnection,
        name: &str,
        holder: &str,
        length: Duration,
    ) -> Result<Take, sqlx::Error> {
        let query = sqlx::query(self.take.text()).bind(name).bind(holder).bind(millis(length));
        // No row: the one who made it at this moment has it.
        let Some(row) = query.fetch_optional(connection).await? else {
            return Ok(Take::Held { holder: String::new(), left: Duration::ZERO });
        };
        if let Some(token) = row.try_get("token")? {
            return Ok(Take::Taken(token));
        }
        let left = row.try_get::<i64, _>("left_ms")?.max(0).unsigned_abs();
        Ok(Take::Held { holder: row.try_get("holder")?, left: Duration::from_millis(left) })
    }

    /// Answers whether it is still the caller's.
    pub(crate) async fn renew(
        &self,
        connection: &mut PgConnection,
        name: &str,
        token: i64,
        length: Duration,
    ) -> Result<bool, sqlx::Error> {
        let query = sqlx::query(self.renew.text()).bind(name).bind(token).bind(millis(length));
        Ok(query.fetch_optional(connection).await?.is_some())
    }

    pub(crate) async fn release(
        &self,
        connection: &mut PgConnection,
        name: &str,
        token: i64,
        at_least: Duration,
    ) -> Result<(), sqlx::Error> {
        let query = sqlx::query(self.release.text()).bind(name).bind(token).bind(millis(at_least));
        query.execute(connection).await.map(drop)
    }

    /// Answers whether it is still the caller's, and keeps it so until the caller's transaction ends.
    pub(crate) async fn fence(
        &self,
        connection: &mut PgConnection,
        name: &str,
        token: i64,
    ) -> Result<bool, sqlx::Error> {
        let query = sqlx::query(self.fence.text()).bind(name).bind(token);
        Ok(query.fetch_optional(connection).await?.is_some())
    }
}
