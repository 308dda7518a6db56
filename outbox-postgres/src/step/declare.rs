//! declare: the handlers of this binary, into the catalogue that every publish reads.

use outbox_core::{Registry, Versions};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::Statements;
use crate::fan_out::{max_attempts, source};
use crate::schema::Schema;

/// Answers the handlers that the catalogue did not know: they are active from now on.
pub(crate) async fn declare(
    connection: &mut PgConnection,
    statements: &Statements,
    registry: &Registry,
) -> Result<Vec<String>, sqlx::Error> {
    let all = registry.subscribers();
    let aliases: Vec<_> = all.iter().flat_map(|one| one.aliases.iter().map(|alias| (one.name, *alias))).collect();
    let rows = sqlx::query(statements.declare.text())
        .bind(all.iter().map(|one| one.name).collect::<Vec<_>>())
        .bind(all.iter().map(|one| source(one).0).collect::<Vec<_>>())
        .bind(all.iter().map(|one| source(one).1).collect::<Vec<_>>())
        .bind(all.iter().map(|one| one.versions == Versions::Any).collect::<Vec<_>>())
        .bind(all.iter().map(|one| max_attempts(one)).collect::<Vec<_>>())
        .bind(all.iter().map(|one| i16::from(one.settings.priority)).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(handler, _)| *handler).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, alias)| *alias).collect::<Vec<_>>())
        .bind(all.iter().map(|one| one.settings.parks).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Whether this connection's role may write the catalogue. One that only publishes may not, and need not.
pub(crate) async fn may_declare(connection: &mut PgConnection, schema: &Schema) -> Result<bool, sqlx::Error> {
    let text = "select has_table_privilege($1, 'insert') and has_table_privilege($1, 'delete') and has_any_column_privilege($1, 'update')";
    sqlx::query(text).bind(schema.table("subscription")).fetch_one(connection).await?.try_get(0)
}

/// Those of `own` that the catalogue does not know, by name or by alias.
pub(crate) async fn unknown(
    connection: &mut PgConnection,
    schema: &Schema,
    own: &[&str],
) -> Result<Vec<String>, sqlx::Error> {
    let text = format!(
        "select o.handler from unnest($1::text[]) as o (handler)
         where not exists (select from {} s where s.handler = o.handler or o.handler = any(s.aliases)) order by 1",
        schema.table("subscription")
    );
    let rows = sqlx::query(AssertSqlSafe(text)).bind(own).fetch_all(connection).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}
