//! How the tables of a schema stand to a binary.

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::schema::Schema;

/// How the tables stand to this binary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// There are none, or older ones.
    Behind,
    /// This binary works on them. They may be newer, by migrations that say so.
    Fit,
    /// They are newer, and this binary does not work on them.
    TooNew(i32),
}

pub(super) async fn has_history(connection: &mut PgConnection, schema: &Schema) -> Result<bool, sqlx::Error> {
    let text = "select to_regclass($1) is not null";
    sqlx::query(text).bind(schema.table("migration")).fetch_one(connection).await?.try_get(0)
}

/// How the tables in `schema` stand to a binary whose newest version is `known`.
pub(crate) async fn standing(
    connection: &mut PgConnection,
    schema: &Schema,
    known: i32,
) -> Result<Standing, sqlx::Error> {
    if !has_history(connection, schema).await? {
        return Ok(Standing::Behind);
    }
    let history = schema.table("migration");
    let text = format!(
        "select max(version), coalesce(bool_or(coalesce(compatible_from > $1, true)) filter (where version > $1), false) from {history}"
    );
    let row = sqlx::query(AssertSqlSafe(text)).bind(known).fetch_one(connection).await?;
    Ok(match (row.try_get::<Option<i32>, _>(0)?, row.try_get(1)?) {
        (Some(found), true) => Standing::TooNew(found),
        (Some(found), false) if found >= known => Standing::Fit,
        _ => Standing::Behind,
    })
}
