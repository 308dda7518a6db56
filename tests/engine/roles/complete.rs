//! Each statement and each table, against each role.

use std::collections::BTreeSet;

use outbox_testing::Sandbox;
use sqlx::{AssertSqlSafe, Executor};

use crate::sql::code;

use super::granted::{ALL, DENIED, Granted};

/// Each statement of the engine, against each role: a worker may run all of them, a publisher those that publish, a reader and an
/// administrator those that look.
#[tokio::test]
async fn each_statement_is_allowed_to_those_who_need_it() {
    let it = Granted::new().await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/outbox-postgres/src/step");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "sql")).collect();
    for role in ALL {
        let mut allowed = BTreeSet::new();
        let mut connection = it.member(role).await.acquire().await.unwrap();
        for file in &files {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(file).unwrap();
            let prepare = it.floor.fill(&format!("prepare it as {text}"));
            let arguments =
                "select coalesce(array_length(parameter_types, 1), 0) from pg_prepared_statements where name = 'it'";
            connection.execute(prepare).await.unwrap_or_else(|error| panic!("{role} prepares {name}: {error}"));
            let count: i32 = sqlx::query_scalar(arguments).persistent(false).fetch_one(&mut *connection).await.unwrap();
            let nulls = vec!["null"; usize::try_from(count).unwrap()].join(", ");
            let explain =
                if count == 0 { "explain execute it".to_owned() } else { format!("explain execute it ({nulls})") };
            // EXPLAIN checks the rights as execution does, and does nothing.
            match connection.execute(sqlx::raw_sql(AssertSqlSafe(explain))).await {
                Ok(_) => drop(allowed.insert(name)),
                Err(error) => assert_eq!(code(&error), DENIED, "{role} and {name}: {error}"),
            }
            connection.execute("deallocate it").await.unwrap();
        }
        // Its one right, to set the sequence, is asked for when it runs: the tests above see it refused.
        assert!(allowed.remove("survey_connections"), "every role may know how many connections it may have");
        assert!(allowed.remove("vacuum_look"), "and read the statistics");
        assert!(allowed.remove("live_open"), "and see whose transactions are open");
        for setting in ["bound", "lift"] {
            assert!(allowed.remove(setting), "and make settings of its own transaction");
        }
        let allowed: Vec<_> =
            allowed.iter().map(String::as_str).filter(|name| role == "worker" || *name != "backfill_fence").collect();
        match role {
            // What an operator reads of messages, and does to failed jobs, is no part of running them.
            "worker" => {
                let operators = ["inspect", "inspect_attempts", "parked", "redrive_many"];
                assert!(operators.iter().all(|name| !allowed.contains(name)), "{allowed:?}");
                assert_eq!(allowed.len() + 5 + operators.len(), files.len(), "{allowed:?}");
            }
            "publisher" => assert_eq!(allowed, ["enqueue", "publish", "publish_keyed", "publish_known"]),
            "reader" => {
                assert_eq!(
                    allowed,
                    [
                        "depth",
                        "failed",
                        "inspect_attempts",
                        "look",
                        "quarantine_list",
                        "recover",
                        "rescue_held",
                        "schedule_due",
                        "schedule_status",
                        "survey_handlers",
                        "survey_jobs"
                    ]
                );
            }
            // Those that begin a backfill anew, as an activation does.
            _ => assert_eq!(
                allowed,
                [
                    "backfill_barrier",
                    "backfill_lock",
                    "dead_letters",
                    "depth",
                    "failed",
                    "inspect",
                    "inspect_attempts",
                    "lease_fence",
                    "lease_release",
                    "lease_renew",
                    "live",
                    "look",
                    "parked",
                    "quarantine_get",
                    "quarantine_list",
                    "quarantine_remove",
                    "recover",
                    "redrive_many",
                    "rescue_held",
                    "restored",
                    "schedule_due",
                    "schedule_lock",
                    "schedule_status",
                    "survey_handlers",
                    "survey_jobs"
                ]
            ),
        }
    }
}

/// The script decides on every table: one that a migration adds is named in it, or this fails.
#[tokio::test]
async fn every_table_has_been_thought_of() {
    let sandbox = Sandbox::new().await;
    let text = "select c.relname::text from pg_class c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'S', 'v')
                and not c.relispartition union all select relname::text from pg_class where relnamespace = $1::regnamespace
                and relname in ('job_live', 'job_succeeded', 'job_failed')";
    let tables: Vec<String> = sqlx::query_scalar(text).bind(sandbox.schema()).fetch_all(sandbox.pool()).await.unwrap();
    let script = include_str!("../../../migrations/roles/grant.sql");
    assert!(tables.len() >= 13, "{tables:?}");
    for table in tables {
        assert!(script.contains(&format!("'{table}'")) || script.contains(&format!("'sequence {table}'")), "{table}");
    }
}
