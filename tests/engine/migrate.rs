//! migrate: own schema, own history, from any number of processes, all or nothing, and by hand.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use outbox::{BuildError, MigrateError, Outbox};
use outbox_testing::{Sandbox, eventually};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, Executor, PgPool, Row as _, SqlSafeStr as _};

use crate::database::Database;
use crate::linkage::{linking, on, only_events};
use crate::sql::{holds, texts};
use crate::support::{Script, publish};

/// Everything in a schema with its definition, to see that nothing has changed.
const CONTENT: &str = "
    select line from (
      select format('table %s %s %s', c.oid::regclass, c.relkind, pg_get_partkeydef(c.oid)) as line
      from pg_class c where c.relnamespace = $1::regnamespace
      union all select format('column %s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull)
      from pg_attribute join pg_class c on c.oid = attrelid
      where c.relnamespace = $1::regnamespace and attnum > 0 and c.relkind in ('r', 'p')
      union all select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = $1::regnamespace
      union all select pg_get_indexdef(indexrelid) from pg_index join pg_class c on c.oid = indexrelid
      where c.relnamespace = $1::regnamespace
      union all select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = tgrelid
      where c.relnamespace = $1::regnamespace
      union all select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
      where connamespace = $1::regnamespace) t";

/// With the schema's own name taken out, so that two schemas can be compared.
pub async fn content(pool: &PgPool, schema: &str) -> Vec<String> {
    let lines: Vec<String> = sqlx::query_scalar(CONTENT).bind(schema).fetch_all(pool).await.unwrap();
    let mut lines: Vec<_> = lines.iter().map(|line| line.replace(schema, "it")).collect();
    lines.sort();
    lines
}

pub async fn history(pool: &PgPool, schema: &str) -> Vec<String> {
    let text =
        format!("select concat_ws(' ', version, name, checksum, applied_at) from {schema}.migration order by version");
    sqlx::query_scalar(AssertSqlSafe(text)).fetch_all(pool).await.unwrap()
}

/// The application's own migrations, which keep their history in `public._sqlx_migrations`.
fn applications(versions: &[i64]) -> Migrator {
    let migration = |version: &i64| {
        let sql = format!("create table business_{version} (id int)");
        let text = AssertSqlSafe(sql).into_sql_str();
        Migration::new(*version, Cow::Borrowed("business"), MigrationType::Simple, text, false)
    };
    Migrator { migrations: Cow::Owned(versions.iter().map(migration).collect()), ..Migrator::DEFAULT }
}

/// B13, S0-1: the application's own sqlx migrations, from before and from behind ours and of the same numbers, know nothing of ours,
/// and ours nothing of them.
#[tokio::test]
async fn the_applications_migrations_live_beside_ours() {
    let database = Database::new().await;
    let pool = database.pool().await;
    applications(&[1, 2]).run(&pool).await.unwrap();
    outbox::migrate(&pool).await.unwrap();
    applications(&[1, 2, 3]).run(&pool).await.unwrap();
    outbox::migrate(&pool).await.unwrap();
    applications(&[1, 2, 3, 8, 9]).run(&pool).await.unwrap();
    let theirs: Vec<i64> =
        sqlx::query_scalar("select version from _sqlx_migrations order by 1").fetch_all(&pool).await.unwrap();
    assert_eq!(theirs, [1, 2, 3, 8, 9]);
    let ours = history(&pool, "system").await;
    assert!(ours.len() >= 8, "{ours:?}");
    Outbox::builder(pool).registry(only_events()).build().await.unwrap();
}

/// B13: five processes that migrate a fresh database at once all succeed, and each migration is applied once; also where the
/// database's default isolation is a stricter one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_processes_migrate_a_fresh_database_at_once() {
    for isolation in ["read committed", "serializable"] {
        let database = Database::new().await;
        database.set("default_transaction_isolation", isolation).await;
        let mut migrations = Vec::new();
        for _ in 0..5 {
            let options = database.options.clone();
            migrations.push(tokio::spawn(async move {
                let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
                outbox::migrate(&pool).await
            }));
        }
        for migration in migrations {
            migration.await.unwrap().unwrap_or_else(|error| panic!("{isolation}: {error:?}"));
        }
        let pool = database.pool().await;
        let applied = history(&pool, "system").await;
        assert!(applied.len() >= 8 && applied[0].starts_with("1 0001_ulid "), "{applied:?}");
        Outbox::builder(pool).registry(only_events()).build().await.unwrap();
    }
}

/// B13: migrating again changes nothing.
#[tokio::test]
async fn migrating_again_changes_nothing() {
    let sandbox = Sandbox::new().await;
    let before = (content(sandbox.pool(), sandbox.schema()).await, history(sandbox.pool(), sandbox.schema()).await);
    outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap();
    assert_eq!(
        (content(sandbox.pool(), sandbox.schema()).await, history(sandbox.pool(), sandbox.schema()).await),
        before
    );
}

/// B13: a migration whose future is dropped in the middle leaves neither a table nor a lock: another connection then migrates at
/// once. It is dropped at every point at which it waits.
#[tokio::test]
async fn a_migration_that_is_dropped_leaves_nothing() {
    let sandbox = Sandbox::empty().await;
    let key = format!("outbox migrate {}", sandbox.schema());
    let locks = "select count(*) from pg_locks where locktype = 'advisory'
                 and (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)";
    for polls in [2, 4, 6, 9, 13, 20, 30] {
        let mut left = polls;
        {
            let mut migration = pin!(outbox::migrate_schema(sandbox.pool(), sandbox.schema()));
            poll_fn(|context| {
                left -= 1;
                match migration.as_mut().poll(context) {
                    Poll::Pending if left > 0 => Poll::Pending,
                    _ => Poll::Ready(()),
                }
            })
            .await;
        }
        eventually("no lock is left behind", async || {
            let held: i64 = sqlx::query_scalar(locks).bind(&key).fetch_one(sandbox.pool()).await.unwrap();
            (held == 0).then_some(())
        })
        .await;
    }
    // In the middle for certain: held up by somebody who has made the schema and not committed yet.
    let fresh = Sandbox::empty().await;
    let mut holder = fresh.pool().begin().await.unwrap();
    holder.execute(AssertSqlSafe(format!("create schema \"{}\"", fresh.schema()))).await.unwrap();
    let (pool, schema) = (fresh.pool().clone(), fresh.schema().to_owned());
    let stuck = tokio::spawn(async move { outbox::migrate_schema(&pool, &schema).await });
    let key = format!("outbox migrate {}", fresh.schema());
    eventually("the migration holds its lock", async || {
        let held: i64 = sqlx::query_scalar(locks).bind(&key).fetch_one(sandbox.pool()).await.unwrap();
        (held == 1).then_some(())
    })
    .await;
    stuck.abort();
    assert!(stuck.await.unwrap_err().is_cancelled());
    holder.rollback().await.unwrap();
    outbox::migrate_schema(fresh.pool(), fresh.schema()).await.unwrap();
    outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap();
    assert_eq!(content(sandbox.pool(), sandbox.schema()).await, content(fresh.pool(), fresh.schema()).await);
}

/// B13, Q28: on a newer schema that does not say it is compatible an old binary neither migrates nor starts; both say the versions,
/// and nothing is changed.
#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let sandbox = Sandbox::new().await;
    sandbox.execute("insert into :schema.migration (version, name, checksum) values (99, '0099_future', 'x')").await;
    let before = (content(sandbox.pool(), sandbox.schema()).await, history(sandbox.pool(), sandbox.schema()).await);
    let newest = before.1.len() - 1;
    let error = outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap_err();
    assert!(matches!(error, MigrateError::TooNew { found: 99, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "the schema `{}` is at version 99, and this binary knows versions up to {newest}: nothing was changed; use a newer binary",
            sandbox.schema()
        )
    );
    let registry = linking([on("inventory.count", "order.placed")]);
    let error = sandbox.outbox().registry(registry).build().await.unwrap_err();
    assert!(matches!(error, BuildError::TooNew { found: 99, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "the schema `{}` is at version 99, and this binary knows versions up to {newest}: use a newer binary",
            sandbox.schema()
        )
    );
    assert_eq!(
        (content(sandbox.pool(), sandbox.schema()).await, history(sandbox.pool(), sandbox.schema()).await),
        before
    );
    assert_eq!(sandbox.number("select count(*) from :schema.subscription").await, 0);
}

/// Q28: an old binary works on a newer schema whose migrations say that they are compatible with it, and leaves it alone.
#[tokio::test]
async fn a_newer_schema_that_is_compatible_is_taken() {
    let sandbox = Sandbox::new().await;
    let newest = history(sandbox.pool(), sandbox.schema()).await.len();
    let future = format!(
        "insert into :schema.migration (version, name, compatible_from)
         values (98, '0098_future', {newest}), (99, '0099_future', {newest})"
    );
    sandbox.execute(&future).await;
    let before = history(sandbox.pool(), sandbox.schema()).await;
    outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap();
    sandbox.outbox().registry(only_events()).build().await.unwrap();
    assert_eq!(history(sandbox.pool(), sandbox.schema()).await, before);
    let not = format!("update :schema.migration set compatible_from = {} where version = 98", newest + 1);
    sandbox.execute(&not).await;
    let error = outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap_err();
    assert!(matches!(error, MigrateError::TooNew { found: 99, .. }), "one that is not is enough: {error}");
}

/// Q28: the binaries of the last release start on the tables of today: each migration since says so, unless a release is meant to break that.
#[tokio::test]
async fn the_last_release_is_let_on_the_tables_of_today() {
    let released = include_str!("../previous/released.toml");
    let version = released.lines().find_map(|line| line.strip_prefix("version = ")).unwrap().trim_matches('"');
    let sandbox = Sandbox::new().await;
    let refusing = format!(
        "select name from :schema.migration where version > {version} and coalesce(compatible_from > {version}, true) order by 1"
    );
    assert_eq!(crate::sql::texts(&sandbox, &refusing).await, Vec::<String>::new());
}

/// B13: a migration that was applied from another text is refused by number, and nothing is changed.
#[tokio::test]
async fn a_changed_migration_is_refused() {
    let sandbox = Sandbox::new().await;
    sandbox.execute("update :schema.migration set checksum = 'other' where version = 3").await;
    sandbox.execute("delete from :schema.migration where version > 6").await;
    let before = (content(sandbox.pool(), sandbox.schema()).await, history(sandbox.pool(), sandbox.schema()).await);
    let error = outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap_err();
    assert!(matches!(error, MigrateError::Changed { version: 3, .. }), "{error}");
    assert_eq!(
        (content(sandbox.pool(), sandbox.schema()).await, history(sandbox.pool(), sandbox.schema()).await),
        before
    );
}

/// B13: a migration that fails is named with what the database says, and undone together with those before it.
#[tokio::test]
async fn a_migration_that_fails_is_undone_with_all_others() {
    let sandbox = Sandbox::empty().await;
    let schema = sandbox.schema();
    sandbox.execute(&format!("create schema {schema}; create table {schema}.inbox (foreign_to_us int)")).await;
    let before = content(sandbox.pool(), schema).await;
    let error = outbox::migrate_schema(sandbox.pool(), schema).await.unwrap_err();
    assert!(matches!(error, MigrateError::Failed { version: 5, name: "0005_keys", .. }), "{error}");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("\"inbox\" already exists"));
    assert_eq!(content(sandbox.pool(), schema).await, before);
}

/// B13: a role that is no superuser and owns nothing migrates with the right to create in the database, or into a schema that was
/// made for it without even that; publishes, works and redrives.
#[tokio::test]
async fn a_plain_role_migrates_and_works() {
    let database = Database::new().await.with_plain_role().await;
    let pool = database.pool().await;
    outbox::migrate(&pool).await.unwrap();
    let script = Script::default();
    let outbox = Outbox::builder(pool.clone())
        .registry(linking([on("inventory.count", "order.placed")]))
        .state(script.clone())
        .build()
        .await
        .unwrap();
    publish(&outbox, "o1").await;
    let done = async {
        eventually("the job has run", async || (script.count("inventory.count") == 1).then_some(())).await;
    };
    outbox.run(done).await.unwrap();
    let superuser: bool = sqlx::query_scalar("select rolsuper from pg_roles where rolname = current_user")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(!superuser);

    let name = sqlx::query("select current_database(), current_user").fetch_one(&pool).await.unwrap();
    let (name, role): (String, String) = (name.get(0), name.get(1));
    let admin = Sandbox::empty().await;
    let owner = (*admin.pool().connect_options()).clone().database(&name);
    let owner = PgPool::connect_with(owner).await.unwrap();
    let text = format!("create schema given authorization {role}; revoke create on database {name} from {role}");
    owner.execute(sqlx::raw_sql(AssertSqlSafe(text))).await.unwrap();
    owner.close().await;
    outbox::migrate_schema(&pool, "given").await.unwrap();
    outbox::migrate_schema(&pool, "given").await.unwrap();
    let refused = outbox::migrate_schema(&pool, "not_given").await.unwrap_err();
    assert!(matches!(refused, MigrateError::NotAllowed { .. }), "{refused}");
}

/// S0-1: the files make the same tables when they are applied by hand, one after the other under a `search_path`, into a schema of
/// any name; nothing in them names a schema, and a binary starts on them and migrates from there.
#[tokio::test]
async fn the_files_can_be_applied_by_hand() {
    let (by_us, by_hand) = (Sandbox::new().await, Sandbox::empty().await);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    let mut connection = by_hand.pool().acquire().await.unwrap();
    let schema = by_hand.schema();
    let begin = format!("create schema {schema}; set search_path to {schema}, pg_temp");
    connection.execute(sqlx::raw_sql(AssertSqlSafe(begin))).await.unwrap();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(text)))
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    connection.execute("reset search_path").await.unwrap();
    let (ours, theirs) = (content(by_us.pool(), by_us.schema()).await, content(by_hand.pool(), schema).await);
    let has = |start: &str| ours.iter().any(|line| line.starts_with(start));
    assert!(has("table it.job_live r") && has("CREATE OR REPLACE FUNCTION it.redrive"), "{ours:#?}");
    assert_eq!(ours, theirs);
    assert!(holds(&by_hand, "select length(:schema.ulid(gen_random_uuid())) = 26").await);
    let functions =
        "select proname::text from pg_proc where pronamespace = ':name'::regnamespace and proconfig is null";
    assert_eq!(
        texts(&by_hand, &functions.replace(":name", schema)).await,
        [""; 0],
        "a function without a fixed search_path"
    );
    let script = Script::default();
    let registry = linking([on("inventory.count", "order.placed")]);
    let outbox = by_hand.outbox().registry(registry).state(script.clone()).build().await.unwrap();
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    assert_eq!(script.count("inventory.count"), 1);
    outbox::migrate_schema(by_hand.pool(), schema).await.unwrap();
    assert_eq!(content(by_hand.pool(), schema).await, theirs, "nothing is applied a second time");
    by_hand.execute("delete from :schema.migration where version = 7").await;
    let again = outbox::migrate_schema(by_hand.pool(), schema).await;
    assert!(matches!(again, Err(MigrateError::Failed { version: 7, .. })), "and what its history lacks is applied");
}
