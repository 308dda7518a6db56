//! declare: the handlers of this binary, into the catalogue that every publish reads.

use outbox_core::{Registry, Versions};
use sqlx::{PgConnection, Row as _};

use super::Statements;
use crate::fan_out::{max_attempts, source};

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
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}
