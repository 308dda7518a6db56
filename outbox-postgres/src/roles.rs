//! Roles with the least that a publisher, a worker, a reader and an administrator need.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};

use crate::error::GrantError;
use crate::schema::{DEFAULT_SCHEMA, Schema, is_identifier};

const GRANT: &str = include_str!("../migrations/roles/grant.sql");
const DEFAULT_PREFIX: &str = "outbox";
/// With `_publisher` behind it, a name of 60 bytes at most; PostgreSQL takes 63.
const LONGEST_PREFIX: usize = 50;

/// The roles `outbox_publisher`, `outbox_worker`, `outbox_reader` and `outbox_admin`, to be granted on an outbox's tables.
///
/// Optional: the tables' owner may do everything. With them an application's login role gets no more than it needs:
///
/// | member of | may | may not |
/// |---|---|---|
/// | `outbox_publisher` | publish, enqueue | read events or jobs, alter a job |
/// | `outbox_worker` | all of that, and run every service of a worker | alter a table, remove history |
/// | `outbox_reader` | see states, counts, attempts, errors | read payloads, write anything |
/// | `outbox_admin` | read everything, redrive, cancel, retire, activate | write anything else |
///
/// ```no_run
/// # async fn example(owner: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// outbox_postgres::migrate(&owner).await?;
/// outbox_postgres::Roles::new().grant(&owner).await?; // then, once: grant outbox_publisher to shop_web
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    schema: String,
    prefix: String,
}

impl Roles {
    /// `outbox_publisher` and so on, for the schema `system`.
    #[must_use]
    pub fn new() -> Self {
        Self { schema: DEFAULT_SCHEMA.to_owned(), prefix: DEFAULT_PREFIX.to_owned() }
    }

    /// For the tables in this schema.
    #[must_use]
    pub fn schema(self, schema: impl Into<String>) -> Self {
        Self { schema: schema.into(), ..self }
    }

    /// Roles of other names: `shop` makes `shop_publisher` and so on. Roles belong to the whole server, so two outboxes whose
    /// roles have one prefix share them.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// What [`grant`](Self::grant) runs, as a script of one transaction.
    ///
    /// # Errors
    /// When schema or prefix is no identifier.
    pub fn sql(&self) -> Result<String, GrantError> {
        let (schema, prefix) = self.checked()?;
        Ok(format!("begin;\n{}\n{GRANT}\ncommit;\n", head(&schema, prefix)))
    }

    /// Makes the roles that are missing, takes back what they hold on these tables, and grants it anew, in one transaction.
    /// Again behind each migration; from several processes at once too.
    ///
    /// The pool's role owns the tables, or is a member of their owner. Where it may not create roles, an administrator creates
    /// them first; the error says how.
    ///
    /// # Errors
    /// See [`GrantError`]; whatever it is, nothing was changed.
    ///
    /// # Cancel safety
    /// Dropped in the middle, nothing is changed.
    pub async fn grant(&self, pool: &PgPool) -> Result<(), GrantError> {
        let (schema, prefix) = self.checked()?;
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        let mut transaction = connection.begin_with("begin isolation level read committed").await?;
        transaction.execute(sqlx::raw_sql(AssertSqlSafe(head(&schema, prefix)))).await?;
        transaction.execute(sqlx::raw_sql(GRANT)).await?;
        transaction.commit().await?;
        // It is done; a connection that does not close politely changes nothing of that.
        let _ = connection.close().await;
        Ok(())
    }

    fn checked(&self) -> Result<(Schema, &str), GrantError> {
        let fits = self.prefix.len() <= LONGEST_PREFIX && is_identifier(&self.prefix);
        if !fits {
            return Err(GrantError::Prefix(self.prefix.chars().take(80).collect()));
        }
        Ok((Schema::new(&self.schema)?, &self.prefix))
    }
}

impl Default for Roles {
    fn default() -> Self {
        Self::new()
    }
}

/// Where the script works, and for whom.
fn head(schema: &Schema, prefix: &str) -> String {
    format!("set local search_path to \"{}\", pg_temp; set local outbox.role_prefix = '{prefix}';", schema.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the names are, the script holds them as they are or is not made; then no quote can end early in it.
        #[test]
        fn a_script_holds_only_identifiers(schema in "[a-z_]{1,6}['\"; A-Z0-9]?[a-z]{0,2}", prefix in "[a-z_]{1,6}['\"; A-Z0-9]?[a-z]{0,2}|[a-z]{48,53}") {
            let text = Roles::new().schema(&*schema).prefix(&*prefix).sql();
            prop_assert_eq!(text.is_ok(), is_identifier(&schema) && is_identifier(&prefix) && prefix.len() <= 50);
            if let Ok(text) = text {
                let head = text.lines().nth(1).unwrap_or_default();
                prop_assert_eq!((head.matches('"').count(), head.matches('\'').count(), head.matches(';').count()), (2, 2, 2));
            }
        }
    }

    #[test]
    fn only_plain_identifiers_begin_the_names_of_roles() {
        for bad in ["", "Shop", "sh-op", "1a", "a'; drop table event; --", "pg_x", &"a".repeat(51)] {
            let refused = Roles::new().prefix(bad).sql().expect_err(bad);
            assert!(matches!(refused, GrantError::Prefix(_)), "{refused}");
        }
        assert!(matches!(Roles::new().schema("a\"b").sql(), Err(GrantError::Schema(_))));
        let text = Roles::new().schema("shop").prefix(&*"a".repeat(50)).sql().expect("identifiers");
        assert!(
            text.starts_with("begin;\nset local search_path to \"shop\", pg_temp; set local outbox.role_prefix = 'aaa")
        );
    }
}
