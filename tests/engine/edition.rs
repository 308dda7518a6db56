//! A publisher that knows the catalogue: it reads one value of it, and never goes by what has changed.

use outbox::{PublishError, Published};
use outbox_testing::{Sandbox, eventually};
use sqlx::PgConnection;

use crate::linkage::{linking, on, on_any, only_events};
use crate::roles::granted::Logins;
use crate::sql::{assert_usable, filled, holds, text, texts};
use crate::support::{OrderPlaced, Shop, publish};

/// A subscriber of everything that comes late.
const LATE: &str = "insert into :schema.subscription (handler, source, kind, max_attempts, priority) values ('late.come', '*', 'event', 5, 0)";
const EDITION: &str = "select edition::text from :schema.catalogue";

/// What the jobs of an event are, by handler.
async fn jobs_of(shop: &Shop, published: Published) -> Vec<String> {
    let text = format!(
        "select concat_ws(' ', job_type, payload_version, max_attempts, priority) from :schema.job where event_id = '{}' order by 1",
        published.event_id.as_uuid()
    );
    texts(&shop.sandbox, &text).await
}

/// How often this connection has gone by an edition that was known.
async fn by_edition(connection: &mut PgConnection) -> i64 {
    let text = "select coalesce(sum(generic_plans + custom_plans), 0)::bigint from pg_prepared_statements
                where statement like '%c.edition = $8%' and statement not like '%pg_prepared_statements%'";
    sqlx::query_scalar(text).fetch_one(connection).await.unwrap()
}

/// How often this transaction has read the subscribers.
async fn reads(shop: &Shop, connection: &mut PgConnection) -> i64 {
    let text = "select seq_scan + coalesce(idx_scan, 0) from pg_stat_xact_user_tables where relid = ':schema.subscription'::regclass";
    sqlx::query_scalar(filled(&shop.sandbox, text)).fetch_one(connection).await.unwrap()
}

/// S0-7, S0-10: from the second publish of an event on, a publisher compares the catalogue's edition instead of reading the catalogue,
/// and writes the same.
#[tokio::test]
async fn a_publisher_reads_the_catalogue_once() {
    let shop = Shop::new().await;
    let registry = linking([on("inventory.count", "order.placed"), on_any("all.watch", "*")]);
    let outbox = shop.bare(registry).build().await.unwrap();
    shop.bare(linking([on("search.index", "order.placed")])).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let mut published = Vec::new();
    // Behind a pooler others have been on this connection.
    let before = by_edition(&mut tx).await;
    let mut looked = Vec::new();
    for times in 0..3 {
        assert_eq!(by_edition(&mut tx).await - before, (times - 1).max(0));
        published.push(outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap());
        looked.push(reads(&shop, &mut tx).await);
    }
    assert!(looked[0] > 0 && looked[2] == looked[0], "{looked:?}");
    tx.commit().await.unwrap();
    for one in published {
        assert_eq!(one.jobs, 3);
        assert_eq!(jobs_of(&shop, one).await, ["all.watch 0 8 1", "inventory.count 1 8 1", "search.index 1 8 1"]);
    }
    let stored = "select distinct concat_ws(' ', event_type, event_version, subject_type, subject_id, payload, metadata) from :schema.event";
    assert_eq!(texts(&shop.sandbox, stored).await, [r#"order.placed 1 order o1 {"units": 1, "order_id": "o1"} {}"#]);
}

/// S0-10, B2: whatever changes in the catalogue, by whoever's statement, holds for the next publish of a process that had known it
/// otherwise.
#[tokio::test]
async fn every_change_of_the_catalogue_holds_for_the_next_publish() {
    const ONE: &str = "where handler = 'inventory.count'";
    let changes = [
        format!("update :schema.subscription set max_attempts = 3 {ONE}"),
        format!("update :schema.subscription set priority = 3 {ONE}"),
        format!("update :schema.subscription set any_version = true {ONE}"),
        format!("update :schema.subscription set source = 'order.shelved' {ONE}"),
        format!("update :schema.subscription set source = 'order.*' {ONE}"),
        format!("update :schema.subscription set retired_at = now() {ONE}"),
        format!("update :schema.subscription set retired_at = null {ONE}"),
        format!(
            "update :schema.subscription set kind = 'relay' {ONE}; update :schema.subscription set handler = 'broker.relay' {ONE}"
        ),
        LATE.into(),
        "delete from :schema.subscription where handler = 'late.come'".into(),
        // Of no event any more.
        "update :schema.subscription set kind = 'job'".into(),
        "update :schema.subscription set kind = 'event'".into(),
        "truncate :schema.subscription".into(),
    ];
    let shop = Shop::new().await;
    shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let knows = shop.bare(only_events()).build().await.unwrap();
    let mut before = jobs_of(&shop, publish(&knows, "first").await).await;
    for change in changes {
        publish(&knows, "known").await;
        shop.sandbox.execute(&change).await;
        let reads = shop.bare(only_events()).build().await.unwrap();
        let expected = jobs_of(&shop, publish(&reads, "read").await).await;
        assert_ne!(expected, before, "the change is one: {change}");
        assert_eq!(jobs_of(&shop, publish(&knows, "changed").await).await, expected, "{change}");
        before = expected;
    }
}

/// S0-10: a retirement and an activation hold from the moment they return, for every process; a binary that starts with a subscriber
/// nobody knew yet, from the end of its build.
#[tokio::test]
async fn what_an_operator_says_holds_at_once() {
    let shop = Shop::new().await;
    let worker = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let web = shop.bare(only_events()).build().await.unwrap();
    for _ in 0..3 {
        assert_eq!(publish(&web, "o1").await.jobs, 1);
        worker.retire("inventory.count").await.unwrap();
        assert_eq!(publish(&web, "o1").await.jobs, 0);
        worker.activate("inventory.count").await.unwrap();
    }
    shop.bare(linking([on("search.index", "order.placed")])).build().await.unwrap();
    assert_eq!(publish(&web, "o1").await.jobs, 2);
}

/// What a backfill notes, and a declaration that says again what is there, is no other edition: a process that starts makes nobody read
/// the catalogue.
#[tokio::test]
async fn what_changes_nothing_is_no_other_edition() {
    let shop = Shop::new().await;
    let registry = || linking([on("inventory.count", "order.placed"), on("search.index", "order.placed")]);
    let outbox = shop.bare(registry()).build().await.unwrap();
    let edition = text(&shop.sandbox, EDITION).await;
    let done = async || {
        let all = "select bool_and(backfilled_at is not null) from :schema.subscription";
        eventually("the backfill is complete", async || holds(&shop.sandbox, all).await.then_some(())).await;
    };
    outbox.run(done()).await.unwrap();
    shop.bare(registry()).build().await.unwrap();
    shop.bare(only_events()).build().await.unwrap();
    assert_eq!(text(&shop.sandbox, EDITION).await, edition);
    outbox.retire("search.index").await.unwrap();
    assert_ne!(text(&shop.sandbox, EDITION).await, edition);
}

/// S0-10, O1: a publisher that goes by a known edition holds the catalogue's lock until its transaction ends, which a backfill waits for:
/// what it missed is written then.
#[tokio::test]
async fn a_publisher_by_edition_is_waited_for() {
    let shop = Shop::new().await;
    let web = shop.bare(only_events()).build().await.unwrap();
    publish(&web, "first").await;
    let mut tx = web.begin().await.unwrap();
    // The plan that is kept from the sixth time on has the lock as well.
    for _ in 0..6 {
        web.publish(&mut tx, &OrderPlaced::of("known")).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut tx = web.begin().await.unwrap();
    let known = by_edition(&mut tx).await;
    let missed = web.publish(&mut tx, &OrderPlaced::of("missed")).await.unwrap();
    assert_eq!((missed.jobs, by_edition(&mut tx).await), (0, known + 1));
    let locked = "select count(*) from pg_locks where pid = pg_backend_pid() and relation = ':schema.subscription'::regclass and granted
                  and mode = 'AccessShareLock'";
    let locks: i64 = sqlx::query_scalar(filled(&shop.sandbox, locked)).fetch_one(&mut *tx).await.unwrap();
    assert_eq!(locks, 1);
    let new = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let waits = "select coalesce(bool_and(cardinality(barrier_holders) > 0 and backfilled_at is null), false) from :schema.subscription";
    let handled = async {
        eventually("the backfill waits for it", async || holds(&shop.sandbox, waits).await.then_some(())).await;
        tx.commit().await.unwrap();
        eventually("what it missed is handled", async || (shop.sandbox.jobs().await.succeeded() == 1).then_some(()))
            .await;
    };
    new.run(handled).await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.only().event_id, Some(missed.event_id));
}

/// S0-10: above READ COMMITTED a snapshot may show an edition that is known and no longer the newest. It is refused as long as an event could
/// miss an activation by it.
#[tokio::test]
async fn a_snapshot_with_an_earlier_edition_is_refused() {
    for level in ["repeatable read", "serializable"] {
        let shop = Shop::new().await;
        let web = shop.bare(only_events()).build().await.unwrap();
        let set = || sqlx::AssertSqlSafe(format!("set transaction isolation level {level}"));
        publish(&web, "first").await;
        let mut current = web.begin().await.unwrap();
        sqlx::query(set()).execute(&mut *current).await.unwrap();
        let known = by_edition(&mut current).await;
        assert_eq!(web.publish(&mut current, &OrderPlaced::of("current")).await.unwrap().jobs, 0);
        assert_eq!(by_edition(&mut current).await, known + 1, "it is quick there too");
        current.commit().await.unwrap();
        let mut stale = web.begin().await.unwrap();
        sqlx::query(set()).execute(&mut *stale).await.unwrap();
        let snapshot = filled(&shop.sandbox, "select count(*) from :schema.effect");
        sqlx::query(snapshot).execute(&mut *stale).await.unwrap();
        let new = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
        let done = "select bool_and(backfilled_at is not null) from :schema.subscription";
        let backfilled =
            eventually("the backfill is complete", async || holds(&shop.sandbox, done).await.then_some(()));
        new.run(backfilled).await.unwrap();
        let refused = web.publish(&mut stale, &OrderPlaced::of("stale")).await.unwrap_err();
        assert!(matches!(refused, PublishError::StaleSnapshot { .. }), "{refused}");
        assert_usable(stale, &shop.sandbox).await;
        assert_eq!(publish(&web, "again").await.jobs, 1);
    }
}

/// An in-transaction subscriber that another binary has declared meanwhile refuses the publish, also where the catalogue had
/// been known without it.
#[tokio::test]
async fn a_missing_in_transaction_subscriber_is_noticed_at_once() {
    let shop = Shop::new().await;
    let web = shop.bare(only_events()).build().await.unwrap();
    publish(&web, "first").await;
    shop.sandbox
        .execute("insert into :schema.subscription (handler, source, kind, max_attempts, priority) values ('audit.write', 'order.placed', 'in_transaction', 1, 1)")
        .await;
    let mut tx = web.begin().await.unwrap();
    for _ in 0..2 {
        let refused = web.publish(&mut tx, &OrderPlaced::of("second")).await.unwrap_err();
        assert!(matches!(refused, PublishError::Unlinked { .. }), "{refused}");
    }
    assert_usable(tx, &shop.sandbox).await;
    shop.sandbox.execute("update :schema.subscription set retired_at = now()").await;
    assert_eq!(publish(&web, "third").await.jobs, 0);
}

/// A change of the catalogue that is rolled back is never gone by, not even by the transaction's own process.
#[tokio::test]
async fn a_change_that_is_rolled_back_was_never_known() {
    let shop = Shop::new().await;
    let web = shop.bare(only_events()).build().await.unwrap();
    publish(&web, "first").await;
    let mut tx = web.begin().await.unwrap();
    sqlx::query(filled(&shop.sandbox, LATE)).execute(&mut *tx).await.unwrap();
    for _ in 0..2 {
        assert_eq!(web.publish(&mut tx, &OrderPlaced::of("inside")).await.unwrap().jobs, 1);
        assert_eq!(publish(&web, "beside").await.jobs, 0);
    }
    tx.rollback().await.unwrap();
    assert_eq!(publish(&web, "behind").await.jobs, 0);
}

/// A catalogue that has lost its edition is read at each publish; nothing is lost.
#[tokio::test]
async fn a_catalogue_without_an_edition_is_read() {
    let shop = Shop::new().await;
    let worker = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    assert_eq!(publish(&worker, "first").await.jobs, 1);
    shop.sandbox.execute("delete from :schema.catalogue").await;
    for _ in 0..2 {
        assert_eq!(publish(&worker, "next").await.jobs, 1);
    }
    worker.retire("inventory.count").await.unwrap();
    assert_eq!(publish(&worker, "last").await.jobs, 0);
}

/// Whoever was granted the catalogue before there were editions publishes behind the migration as before, also when an earlier release
/// grants its roles once more; who may not use the schema sees no edition.
#[tokio::test]
async fn who_could_read_the_catalogue_can_read_its_edition() {
    let sandbox = Sandbox::empty().await;
    let logins = Logins::new(&sandbox);
    let schema = sandbox.schema();
    let (reader, stranger) = (logins.pool("reader", None).await, logins.pool("stranger", None).await);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.file_name().unwrap().to_str().unwrap()[..4].parse::<u32>().is_ok_and(|version| version < 18)
    });
    files.sort();
    let texts: Vec<_> = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let grants = format!(
        "set search_path to \"{schema}\", pg_temp; revoke all on all tables in schema \"{schema}\" from {login};
         grant usage on schema \"{schema}\" to {login}; grant select on subscription to {login}",
        login = format_args!("{}_l_reader", logins.prefix)
    );
    let tables = format!(
        "create schema if not exists \"{schema}\"; set search_path to \"{schema}\", pg_temp; {}",
        texts.join("\n")
    );
    logins.execute(format!("{tables}; {grants}")).await;
    outbox::migrate_schema(sandbox.pool(), schema).await.unwrap();
    let look = || sqlx::AssertSqlSafe(format!("select edition from \"{schema}\".catalogue"));
    sqlx::query(look()).fetch_one(&reader).await.unwrap();
    logins.execute(grants).await;
    sqlx::query(look()).fetch_one(&reader).await.unwrap();
    let refused = sqlx::query(look()).fetch_one(&stranger).await.unwrap_err();
    assert_eq!(crate::sql::code(&refused), crate::roles::granted::DENIED);
    reader.close().await;
    stranger.close().await;
}
