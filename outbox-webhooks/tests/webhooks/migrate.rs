//! The tables of this crate, beside those of the outbox.

use outbox_testing::Sandbox;
use outbox_webhooks::{MigrateError, Webhooks};
use sqlx::PgPool;
use tokio::task::JoinSet;

fn webhooks(pool: &PgPool, schema: &str) -> Webhooks {
    Webhooks::builder(pool.clone()).schema(schema).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_at_once_migrate_and_again_changes_nothing() {
    let sandbox = Sandbox::new().await;
    let mut all = JoinSet::new();
    for _ in 0..5 {
        let webhooks = webhooks(sandbox.pool(), sandbox.schema());
        all.spawn(async move { webhooks.migrate().await });
    }
    for migrated in all.join_all().await {
        migrated.unwrap();
    }
    webhooks(sandbox.pool(), sandbox.schema()).migrate().await.unwrap();
    assert_eq!(sandbox.number("select count(*) from :schema.webhook_migration").await, 1);
    // The outbox's own migration does not mind them.
    outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap();
}

#[tokio::test]
async fn without_an_outbox_it_says_what_to_do() {
    let sandbox = Sandbox::empty().await;
    let refused = webhooks(sandbox.pool(), sandbox.schema()).migrate().await.unwrap_err();
    assert!(matches!(&refused, MigrateError::NoOutbox(schema) if schema == sandbox.schema()), "{refused}");
}

#[tokio::test]
async fn tables_of_a_newer_release_are_left_alone() {
    let sandbox = Sandbox::new().await;
    let webhooks = webhooks(sandbox.pool(), sandbox.schema());
    webhooks.migrate().await.unwrap();
    // One that says that this program works on it is no reason to stop, as in a rolling deployment.
    sandbox
        .execute("insert into :schema.webhook_migration (version, name, compatible_from) values (2, 'later', 1)")
        .await;
    webhooks.migrate().await.unwrap();
    sandbox.execute("insert into :schema.webhook_migration (version, name) values (99, 'much later')").await;
    let refused = webhooks.migrate().await.unwrap_err();
    assert!(matches!(refused, MigrateError::TooNew { found: 99, known: 1, .. }), "{refused}");
}

/// One that dies in the middle leaves nothing: the next one makes all of it.
#[tokio::test]
async fn a_migration_that_is_refused_leaves_nothing() {
    let sandbox = Sandbox::new().await;
    let webhooks = webhooks(sandbox.pool(), sandbox.schema());
    // The name of the last thing that it makes is taken.
    sandbox.execute("create view :schema.webhook_delivery_log as select 1 as it").await;
    assert!(matches!(webhooks.migrate().await, Err(MigrateError::Database(_))));
    let made = "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where c.relname like 'webhook\\_%' and c.relkind = 'r' and n.nspname = ";
    let made = format!("{made}'{}'", sandbox.schema());
    assert_eq!(sandbox.number(&made).await, 0);
    sandbox.execute("drop view :schema.webhook_delivery_log").await;
    webhooks.migrate().await.unwrap();
}

/// Whoever forgot to migrate is told what to do, in the error's own text.
#[tokio::test]
async fn without_its_tables_it_says_what_to_do() {
    let sandbox = Sandbox::new().await;
    let webhooks = webhooks(sandbox.pool(), sandbox.schema());
    let mut connection = sandbox.pool().acquire().await.unwrap();
    let endpoint = outbox_webhooks::NewEndpoint::new("project 12", "https://example.com/hook");
    let error = webhooks.create(&mut connection, endpoint).await.unwrap_err();
    let told = "the tables of webhooks are not there, or older than this binary: run `webhooks.migrate()` first";
    assert_eq!(error.to_string(), told);
}
