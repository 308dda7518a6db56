//! build: settings that cannot work, and tables that do not fit, are refused before anything runs.

use std::time::Duration;

use outbox::{BuildError, SettingFault};
use outbox_testing::{Logs, Sandbox};

use crate::linkage::{linking, on, only_events};
use crate::support::{OrderPlaced, Shop, publish};

fn settings(error: BuildError) -> Vec<SettingFault> {
    match error {
        BuildError::Settings(faults) => faults,
        other => panic!("{other}"),
    }
}

/// Every setting that cannot work is named at once, with what would.
#[tokio::test]
async fn settings_that_cannot_work_are_named_at_once() {
    let shop = Shop::new().await;
    let error = shop
        .bare(linking([on("inventory.count", "order.placed"), on("search.index", "order.placed")]))
        .concurrency(0)
        .batch(0)
        .crash_limit(0)
        .module_concurrency("inventory", 0)
        .module_concurrency("searching", 3)
        .modules(["inventory", "inventroy"])
        .lease(Duration::from_millis(1_999))
        .build()
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the settings cannot work:\n  \
         - `.lease(1.999s)`: a lease has 2 s to 10 min\n  \
         - `.concurrency(0)`: at least 1 is needed\n  \
         - `.batch(0)`: at least 1 is needed\n  \
         - `.crash_limit(0)`: at least 1 is needed\n  \
         - `.module_concurrency(0)`: at least 1 is needed\n  \
         - `.modules` names the module `inventroy`, but no linked subscriber has a name that begins with `inventroy.`; linked are: \
         inventory, search\n  \
         - `.module_concurrency` names the module `searching`, but no linked subscriber has a name that begins with `searching.`; \
         linked are: inventory, search"
    );
    assert_eq!(settings(error).len(), 7);
    assert_eq!(shop.sandbox.number("select count(*) from :schema.subscription").await, 0, "nothing was declared");
}

/// A lease has two seconds to ten minutes, both included.
#[tokio::test]
async fn a_lease_has_bounds() {
    let shop = Shop::new().await;
    for good in [Duration::from_secs(2), Duration::from_mins(10)] {
        shop.bare(only_events()).lease(good).build().await.unwrap();
    }
    for bad in [Duration::ZERO, Duration::from_millis(1_999), Duration::from_millis(600_001), Duration::MAX] {
        let error = shop.bare(only_events()).lease(bad).build().await.unwrap_err();
        assert_eq!(settings(error), [SettingFault::Lease(bad)]);
    }
}

/// Polls have a day between them at most, and some time: without any, a worker would do nothing else.
#[tokio::test]
async fn a_poll_interval_has_bounds() {
    let shop = Shop::new().await;
    for good in [Duration::from_millis(50), Duration::from_hours(24)] {
        shop.bare(only_events()).poll_interval(good).build().await.unwrap();
    }
    for bad in [Duration::ZERO, Duration::from_hours(24) + Duration::from_millis(1), Duration::MAX] {
        let error = shop.bare(only_events()).poll_interval(bad).build().await.unwrap_err();
        assert!(error.to_string().contains("`.poll_interval("), "{error}");
        assert_eq!(settings(error).len(), 1);
    }
}

/// As many as there can be, in slots and in memory, is a setting that works.
#[tokio::test]
async fn the_largest_concurrency_and_prefetch_work() {
    let shop = Shop::new().await;
    for (concurrency, prefetch) in [(u32::MAX, 0), (1, u32::MAX), (u32::MAX, u32::MAX)] {
        let linked = linking([on("inventory.count", "order.placed"), on("search.index", "order.placed")]);
        let outbox = shop.bare(linked).concurrency(concurrency).prefetch(prefetch).build().await.unwrap();
        for n in 0..5 {
            publish(&outbox, &format!("{concurrency} {prefetch} {n}")).await;
        }
        let done = async {
            outbox_testing::eventually("all have run", async || (shop.sandbox.jobs().await.live() == 0).then_some(()))
                .await;
        };
        outbox.run(done).await.unwrap();
    }
}

/// No prefetch is a setting that works: a claim then takes what the free slots run.
#[tokio::test]
async fn no_prefetch_is_no_fault() {
    let shop = Shop::new().await;
    let outbox =
        shop.bare(linking([on("inventory.count", "order.placed")])).prefetch(0).concurrency(1).build().await.unwrap();
    for n in 0..5 {
        publish(&outbox, &format!("o{n}")).await;
    }
    let done = async {
        outbox_testing::eventually("all have run", async || (shop.sandbox.jobs().await.succeeded() == 5).then_some(()))
            .await;
    };
    outbox.run(done).await.unwrap();
}

/// S0-17: a binary that runs one module's handlers claims these alone; what it publishes still reaches the others.
#[tokio::test]
async fn modules_limit_what_runs_and_not_what_is_published() {
    let shop = Shop::new().await;
    let both = || linking([on("inventory.count", "order.placed"), on("inventory_old.count", "order.placed")]);
    let one = shop.bare(both()).modules(["inventory"]).build().await.unwrap();
    assert_eq!(publish(&one, "o1").await.jobs, 2);
    one.drain().await.unwrap();
    let jobs = shop.sandbox.jobs().await;
    assert_eq!(jobs.of("inventory.count").only().status, "succeeded");
    let other = jobs.of("inventory_old.count").only().clone();
    assert_eq!((other.status.as_str(), other.attempts), ("pending", 0), "a prefix ends at the dot");
}

/// S0-1: a schema's name that is no plain identifier is refused, by `build`, by `migrate_schema` and before anything is sent.
#[tokio::test]
async fn a_schema_is_a_plain_identifier() {
    let sandbox = Sandbox::empty().await;
    for bad in ["", "System", "1a", "a-b", "a\"b", "a b", "a;drop schema public", "pg_outbox", "schön", &"a".repeat(64)]
    {
        let built = outbox::Outbox::builder(sandbox.pool().clone()).registry(only_events()).schema(bad).build().await;
        assert!(matches!(built, Err(BuildError::Schema(_))), "{bad:?}");
        let migrated = outbox::migrate_schema(sandbox.pool(), bad).await.unwrap_err();
        assert!(matches!(migrated, outbox::MigrateError::Schema(_)), "{bad:?}");
    }
    let error = outbox::migrate_schema(sandbox.pool(), "a-b").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a-b` cannot be a schema of outbox: a lower-case letter or `_`, then letters, digits and `_`, at most 63 in all"
    );
}

/// S0-1: an identifier of 63 bytes is a schema like any other, and its wake-up finds its worker.
#[tokio::test]
async fn the_longest_schema_works() {
    let sandbox = Sandbox::empty().await;
    let schema = format!("{}_{}", sandbox.schema(), "x".repeat(62 - sandbox.schema().len()));
    assert_eq!(schema.len(), 63);
    outbox::migrate_schema(sandbox.pool(), &schema).await.unwrap();
    let script = crate::support::Script::default();
    let outbox = outbox::Outbox::builder(sandbox.pool().clone())
        .registry(linking([on("inventory.count", "order.placed")]))
        .state(script.clone())
        .schema(&schema)
        .build()
        .await
        .unwrap();
    publish(&outbox, "o1").await;
    let done = async {
        outbox_testing::eventually("it has run", async || (script.count("inventory.count") == 1).then_some(())).await;
    };
    outbox.run(done).await.unwrap();
    sandbox.execute(&format!("drop schema {schema} cascade")).await;
}

/// S0-1: without tables, or with older ones, `build` says so and what to do.
#[tokio::test]
async fn without_tables_nothing_is_built() {
    let sandbox = Sandbox::empty().await;
    let not_migrated = async || {
        let error = sandbox.outbox().registry(only_events()).build().await.unwrap_err();
        assert!(matches!(error, BuildError::NotMigrated { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            format!(
                "the schema `{}` has no outbox tables, or older ones than this binary: run `outbox::migrate(&pool)` first",
                sandbox.schema()
            )
        );
    };
    not_migrated().await;
    outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap();
    sandbox.outbox().registry(only_events()).build().await.unwrap();
    sandbox.execute("delete from :schema.migration where version > 1").await;
    not_migrated().await;
}

/// A database that is not there is an error of its own, with what the driver says as its cause.
#[tokio::test]
async fn a_database_that_is_away_is_an_error_with_its_cause() {
    let sandbox = Sandbox::new().await;
    let options = (*sandbox.pool().connect_options()).clone().port(1);
    let pool = sqlx::postgres::PgPoolOptions::new().acquire_timeout(Duration::from_secs(1)).connect_lazy_with(options);
    let error = outbox::Outbox::builder(pool).registry(only_events()).build().await.unwrap_err();
    assert_eq!(error.to_string(), "the outbox could not be built");
    assert!(std::error::Error::source(&error).is_some());
}

/// A binary without a handler publishes, and is refused as a worker.
#[tokio::test]
async fn a_binary_without_handlers_is_no_worker() {
    let shop = Shop::new().await;
    let web = shop.bare(only_events()).build().await.unwrap();
    let mut tx = web.begin().await.unwrap();
    web.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    tx.commit().await.unwrap();
    let error = web.run(std::future::ready(())).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing to run: no subscriber is linked into this binary; name its crates in `outbox::modules![..]`"
    );
}

/// What `main` returns, and what an `unwrap` shows, is the message with its causes and not the names of our types.
#[tokio::test]
async fn errors_read_the_same_in_debug() {
    let sandbox = Sandbox::empty().await;
    let error = sandbox.outbox().registry(outbox::Registry::default()).build().await.unwrap_err();
    let (shown, debug) = (error.to_string(), format!("{error:?}"));
    assert!(shown.contains("outbox::migrate(&pool)"), "{shown}");
    assert_eq!(debug, shown);
}

/// A pool with fewer connections than handlers that can take a transaction at once is said at the start, and one with enough is
/// not.
#[tokio::test]
async fn a_pool_that_is_too_small_is_said() {
    let shop = Shop::new().await;
    for (concurrency, said) in [(100, true), (2, false)] {
        let logs = Logs::warnings();
        shop.outbox(&["inventory.take"]).concurrency(concurrency).build().await.unwrap();
        let lines = logs.lines();
        let is_said = lines.iter().any(|line| line.starts_with("WARN the application's pool is smaller"));
        assert_eq!(is_said, said, "{concurrency}: {lines:#?}");
    }
}
