//! The script that grants: again, at once, by whom, and by hand.

use outbox::{BuildError, GrantError, MigrateError, Outbox};
use outbox_testing::Sandbox;
use sqlx::AssertSqlSafe;

use crate::linkage::only_events;

use super::granted::{ALL, Granted, Logins};

/// Granting again takes back what was granted beyond the script, and many may do it at once, beside migrations.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn granting_again_and_at_once_is_harmless() {
    let it = Granted::new().await;
    let (schema, prefix) = (it.floor.sandbox.schema().to_owned(), it.logins.prefix.clone());
    let reader = it.member("reader").await;
    it.floor.sandbox.execute(&format!("grant select on :schema.event to {prefix}_reader")).await;
    it.assert_allowed(&reader, &["select payload from :schema.event"]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12 {
        let (pool, roles, schema) = (it.floor.sandbox.pool().clone(), it.logins.roles(&schema), schema.clone());
        tasks.spawn(async move {
            if n % 4 == 0 {
                outbox::migrate_schema(&pool, &schema).await.map_err(|error| error.to_string())
            } else {
                roles.grant(&pool).await.map_err(|error| format!("{error:?}"))
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        assert_eq!(done.unwrap(), Ok(()));
    }
    it.assert_denied(&reader, &["select payload from :schema.event"]).await;
    it.assert_allowed(&reader, &["select id from :schema.event"]).await;
}

/// Several databases of one server are granted at once, and make the same roles.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn databases_that_share_the_roles_are_granted_at_once() {
    let (one, two, three) = tokio::join!(Sandbox::new(), Sandbox::database(), Sandbox::database());
    let logins = Logins::new(&one);
    let grant = async |sandbox: &Sandbox| logins.roles(sandbox.schema()).grant(sandbox.pool()).await;
    let (first, second, third) = tokio::join!(grant(&one), grant(&two), grant(&three));
    for granted in [first, second, third] {
        granted.unwrap();
    }
    for sandbox in [&two, &three] {
        let roles: Vec<_> = ALL.iter().map(|role| format!("{}_{role}", logins.prefix)).collect();
        sandbox.execute(&format!("drop owned by {}", roles.join(", "))).await;
    }
}

/// Who may not create roles is told what an administrator has to run; once the roles are there, the tables' owner grants.
#[tokio::test]
async fn an_owner_who_may_not_create_roles_is_told_what_to_do() {
    let sandbox = Sandbox::empty().await;
    let logins = Logins::new(&sandbox);
    let owner = logins.pool("owner", None).await;
    let schema = sandbox.schema();
    logins.execute(format!("create schema {schema} authorization {}_l_owner", logins.prefix)).await;
    outbox::migrate_schema(&owner, schema).await.unwrap();
    let refused = logins.roles(schema).grant(&owner).await.unwrap_err();
    let said = format!("{refused:?}");
    assert!(
        said.contains(&format!(
            "the role {}_publisher does not exist, and {0}_l_owner may not create roles",
            logins.prefix
        )),
        "{said}"
    );
    let GrantError::Database(error) = refused else { panic!("{said}") };
    let hint =
        error.as_database_error().and_then(|error| error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>()?.hint());
    assert_eq!(
        hint,
        Some(&*format!(
            "have an administrator run: create role {}_publisher nologin; then run this again",
            logins.prefix
        ))
    );
    for role in ALL {
        logins.execute(format!("create role {}_{role} nologin", logins.prefix)).await;
    }
    logins.roles(schema).grant(&owner).await.unwrap();
    let publisher = logins.pool("publisher", Some("publisher")).await;
    Outbox::builder(publisher.clone()).schema(schema).registry(only_events()).build().await.unwrap();

    let refused = logins.roles(schema).grant(&publisher).await.unwrap_err();
    let said = format!("{refused:?}");
    assert!(
        said.contains(&format!("may not grant on the tables in {schema}, which belong to {}_l_owner", logins.prefix)),
        "{said}"
    );
}

/// Who may create nothing brings up to date what is up to date already: `migrate` at the start of every process is no reason to give
/// it more than its role has.
#[tokio::test]
async fn members_migrate_what_is_up_to_date() {
    let it = Granted::new().await;
    for role in ALL {
        outbox::migrate_schema(&it.member(role).await, it.floor.sandbox.schema()).await.unwrap();
    }
}

/// Where something is to be done, or the history is not to be read, it is said who has to do it, and nothing is changed.
#[tokio::test]
async fn who_may_not_migrate_is_told_who_may() {
    let it = Granted::new().await;
    let (worker, stranger) = (it.member("worker").await, it.logins.pool("stranger", None).await);
    let schema = it.floor.sandbox.schema();
    let missing = format!("{schema}_missing");
    // As before the newest.
    let back = "drop function :schema.run_schedule, :schema.schedule_is_busy; drop table :schema.schedule;
                delete from :schema.migration where version = 14";
    it.floor.sandbox.execute(back).await;
    for (pool, schema) in [(&worker, schema), (&worker, &missing), (&stranger, schema), (&stranger, &missing)] {
        let refused = outbox::migrate_schema(pool, schema).await.unwrap_err();
        assert!(matches!(refused, MigrateError::NotAllowed { .. }), "{refused:?}");
        let said = format!("{refused:?}");
        assert!(said.contains("run migrate as the owner of the schema"), "{said}");
        assert!(said.contains("permission denied") || said.contains("must be owner"), "{said}");
        assert!(!said.contains("at line"), "a line of PostgreSQL's own source: {said}");
    }
    let there = format!("select count(*) from pg_namespace where nspname = '{missing}'");
    assert_eq!(it.floor.sandbox.number(&there).await, 0);
    outbox::migrate_schema(it.floor.sandbox.pool(), schema).await.unwrap();
}

/// A schema without tables, or with older ones, is refused with what to do.
#[tokio::test]
async fn a_schema_without_tables_is_not_granted_on() {
    let sandbox = Sandbox::empty().await;
    let logins = Logins::new(&sandbox);
    let said = format!("{:?}", logins.roles(sandbox.schema()).grant(sandbox.pool()).await.unwrap_err());
    assert!(said.contains("the roles were not granted") && said.contains("has no outbox tables"), "{said}");
    outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap();
    sandbox.execute("delete from :schema.migration where version > 8").await;
    let said = format!("{:?}", logins.roles(sandbox.schema()).grant(sandbox.pool()).await.unwrap_err());
    assert!(said.contains("are at version 8, and the roles need version 18"), "{said}");
}

/// The script itself, as psql runs it, refuses a prefix that the server would cut short: the four roles would be one, and a publisher
/// might do what the admin may.
#[tokio::test]
async fn a_prefix_that_is_too_long_is_refused_by_the_script_too() {
    let sandbox = Sandbox::new().await;
    let prefix = format!("{}_{}", sandbox.schema(), "x".repeat(70 - sandbox.schema().len()));
    let script = include_str!("../../../migrations/roles/grant.sql");
    let head =
        format!("set local search_path to {}, pg_temp; set local outbox.role_prefix = '{prefix}';", sandbox.schema());
    let mut transaction = sandbox.pool().begin().await.unwrap();
    let granted = sqlx::raw_sql(AssertSqlSafe(format!("{head}\n{script}"))).execute(&mut *transaction).await;
    transaction.rollback().await.unwrap();
    let said = granted.unwrap_err().to_string();
    assert!(said.contains("cannot begin the names of roles"), "{said}");
}

/// A login that is a member of nothing is told which roles there are.
#[tokio::test]
async fn a_stranger_is_told_which_roles_there_are() {
    let it = Granted::new().await;
    let stranger = it.logins.pool("stranger", None).await;
    let refused = it.outbox(&stranger, only_events()).build().await.unwrap_err();
    assert!(matches!(refused, BuildError::NotAllowed { .. }), "{refused}");
    assert_eq!(
        refused.to_string(),
        format!(
            "this connection's role may not use the outbox in the schema `{}`: make it a member of `outbox_publisher` or \
             `outbox_worker`, which `outbox::Roles` grants",
            it.floor.sandbox.schema()
        )
    );
}

/// The script is the same from a program, as text, and from psql, where there is one.
#[tokio::test]
async fn the_script_runs_as_text_and_from_psql() {
    let it = Granted::new().await;
    let reader = it.member("reader").await;
    let (schema, prefix) = (it.floor.sandbox.schema(), &it.logins.prefix);
    let revoke = format!("revoke all on schema {schema} from {prefix}_reader");
    it.logins.execute(revoke.clone()).await;
    it.assert_denied(&reader, &["select id from :schema.event"]).await;
    it.logins.execute(it.logins.roles(schema).sql().unwrap()).await;
    it.assert_allowed(&reader, &["select id from :schema.event"]).await;

    it.logins.execute(revoke).await;
    let psql = std::process::Command::new("psql")
        .args([
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-v",
            &format!("schema={schema}"),
            "-v",
            &format!("prefix={prefix}"),
            "-f",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/roles/psql.sql"))
        .arg(Sandbox::url().await)
        .output();
    match psql {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(String::from_utf8_lossy(&output.stdout), "", "it has nothing to show");
            it.assert_allowed(&reader, &["select id from :schema.event"]).await;
        }
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
    }
}
