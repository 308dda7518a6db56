//! The statements of the engine, as this server understands them.

use sqlx::{AssertSqlSafe, Executor};

use crate::support::Shop;

/// S0-1: every statement that stands in a file is valid on this server: it is prepared, and so parsed, typed and checked against the
/// tables.
#[tokio::test]
async fn every_statement_can_be_prepared() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/outbox-postgres/src/step");
    let shop = Shop::new().await;
    let mut connection = shop.sandbox.pool().acquire().await.unwrap();
    let mut prepared = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        let text =
            std::fs::read_to_string(&path).unwrap().replace(":schema.", &format!("\"{}\".", shop.sandbox.schema()));
        let statement = AssertSqlSafe(format!("prepare s{prepared} as {text}"));
        connection.execute(statement).await.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        prepared += 1;
    }
    assert!(prepared >= 20, "{prepared}");
}

/// S0-1: no statement names a table without its schema, and none asks for all columns of whatever a table has.
#[tokio::test]
async fn every_statement_qualifies_its_tables() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/outbox-postgres/src/step");
    let tables = [
        "event",
        "job_live",
        "job_succeeded",
        "job_failed",
        "job",
        "attempt",
        "subscription",
        "publish_key",
        "inbox",
        "worker",
        "schedule",
        "catalogue",
        "catalogue_fence",
        "migration",
        "erasure",
        "quarantine",
    ];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code: String =
            text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
        let words: Vec<_> =
            code.split(|c: char| c.is_whitespace() || "(),;".contains(c)).filter(|word| !word.is_empty()).collect();
        let is_ours = |name: &str| {
            let steps = [format!("{name} as ("), format!("{name} as materialized (")];
            tables.contains(&name) && !steps.iter().any(|step| code.contains(step))
        };
        for pair in words.windows(2) {
            if ["from", "join", "into", "update", "using"].contains(&pair[0]) {
                assert!(!is_ours(pair[1]), "{}: `{} {}`", path.display(), pair[0], pair[1]);
            }
        }
        assert!(!code.contains("returning *"), "{}", path.display());
    }
}
