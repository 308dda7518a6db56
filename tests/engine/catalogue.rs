//! The catalogue: who receives an event, whatever the publishing binary links.

use outbox::{PublishError, Registry, Settings};
use outbox_testing::Logs;

use crate::linkage::{linking, on, on_any, only_events};
use crate::sql::{assert_usable, holds, text, texts};
use crate::support::{OrderPlaced, Shop, publish};

const FIVE: [&str; 5] =
    ["analytics.record", "automation.recommend", "automation.score", "inventory.count", "notifications.mail"];

fn five() -> Registry {
    linking(FIVE.map(|name| on(name, "order.placed")))
}

async fn handlers_of(shop: &Shop, published: outbox::Published) -> Vec<String> {
    let jobs = shop.sandbox.jobs().await;
    jobs.0.iter().filter(|job| job.event_id == Some(published.event_id)).map(|job| job.handler.clone()).collect()
}

/// S0-10, S0-15, B1: a binary that links only the events fans out to all five subscribers that others have declared.
#[tokio::test]
async fn a_binary_without_subscribers_fans_out_to_all() {
    let shop = Shop::new().await;
    let worker = shop.bare(five()).build().await.unwrap();
    let web = shop.bare(only_events()).build().await.unwrap();
    let published = publish(&web, "o1").await;
    assert_eq!(published.jobs, 5);
    assert_eq!(handlers_of(&shop, published).await, FIVE);
    worker.drain().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.succeeded(), 5);
}

/// S0-10, B2: yesterday's binary, which links three of five subscribers, fans out to all five, and to none of its own twice; it
/// never runs those that it does not know.
#[tokio::test]
async fn yesterdays_binary_fans_out_to_all() {
    let shop = Shop::new().await;
    let yesterday = shop.bare(five().with_subscribers(|one| one.name < "inventory")).build().await.unwrap();
    assert_eq!(publish(&yesterday, "o1").await.jobs, 3);
    let today = shop.bare(five()).build().await.unwrap();
    let published = publish(&yesterday, "o2").await;
    assert_eq!((published.jobs, handlers_of(&shop, published).await), (5, FIVE.map(String::from).to_vec()));
    yesterday.drain().await.unwrap();
    let waiting = shop.sandbox.jobs().await;
    assert_eq!((waiting.live(), waiting.succeeded()), (2, 6));
    assert!(waiting.0.iter().filter(|job| job.status == "pending").all(|job| job.attempts == 0));
    today.drain().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.succeeded(), 8);
}

/// S0-10: a handler that the publisher links and the catalogue knows has one job and not two, with the settings of the catalogue;
/// one that the catalogue does not know has its own.
#[tokio::test]
async fn registry_and_catalogue_are_united_without_duplicates() {
    let shop = Shop::new().await;
    let mut tried = on("inventory.count", "order.placed");
    tried.settings = Settings { max_attempts: 2, priority: 3, ..Settings::DEFAULT };
    let outbox = shop
        .bare(linking([on("inventory.count", "order.placed"), on("search.index", "order.placed")]))
        .build()
        .await
        .unwrap();
    shop.bare(linking([tried])).build().await.unwrap();
    // As if the declaration had not reached this database yet.
    shop.sandbox.execute("delete from :schema.subscription where handler = 'search.index'").await;
    let published = publish(&outbox, "o1").await;
    assert_eq!(published.jobs, 2);
    let rows =
        texts(&shop.sandbox, "select concat_ws(' ', job_type, max_attempts, priority) from :schema.job order by 1")
            .await;
    assert_eq!(rows, ["inventory.count 2 3", "search.index 8 1"]);
}

/// S0-10: patterns receive the events that they mean and no others, each event once a handler; their jobs take any version.
#[tokio::test]
async fn patterns_receive_what_they_mean() {
    let shop = Shop::new().await;
    let registry = linking([
        on("exact.take", "order.placed"),
        on_any("orders.watch", "order.*"),
        on_any("all.watch", "*"),
        on_any("payments.watch", "payment.*"),
        on("other.take", "order.shelved"),
        // `_` and `%` mean nothing, and a prefix ends at a dot.
        on_any("odd.watch", "order_item.*"),
        on_any("near.watch", "orders.*"),
    ]);
    let outbox = shop.bare(registry).build().await.unwrap();
    let web = shop.bare(only_events()).build().await.unwrap();
    for publisher in [&outbox, &web] {
        let published = publish(publisher, "o1").await;
        assert_eq!(handlers_of(&shop, published).await, ["all.watch", "exact.take", "orders.watch"]);
    }
    let versions =
        texts(&shop.sandbox, "select distinct job_type || ' ' || payload_version from :schema.job order by 1").await;
    assert_eq!(versions, ["all.watch 0", "exact.take 1", "orders.watch 0"]);
    outbox.drain().await.unwrap();
    assert_eq!(shop.script.count("all.watch order.placed"), 2);
}

/// O5: an old binary that still publishes under a handler's earlier name gets its job under the new name, once, and the worker
/// with the alias runs it, with the original name in its key.
#[tokio::test]
async fn a_job_of_an_earlier_name_goes_to_the_new_one() {
    let shop = Shop::new().await;
    let old = shop.bare(linking([on("inventory.take_stock", "order.placed")])).build().await.unwrap();
    publish(&old, "before").await;
    let mut renamed = on("inventory.count", "order.placed");
    renamed.aliases = &["inventory.take_stock"];
    let new = shop.bare(linking([renamed])).build().await.unwrap();
    for publisher in [&old, &new] {
        let published = publish(publisher, "after").await;
        assert_eq!(handlers_of(&shop, published).await, ["inventory.count"]);
    }
    let jobs = shop.sandbox.jobs().await;
    assert_eq!((jobs.of("inventory.take_stock").len(), jobs.of("inventory.count").len()), (1, 2));
    new.drain().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.succeeded(), 3);
    assert_eq!(shop.script.count("inventory.take_stock"), 3, "{:?}", shop.script.notes());
}

/// O5: a renamed handler without an alias: the jobs stored under its old name are kept, uncharged; the catalogue's report and the
/// start-up warnings name it, and after the alias is said they run.
#[tokio::test]
async fn jobs_of_a_forgotten_name_are_kept_and_named() {
    let shop = Shop::new().await;
    let old = shop.bare(linking([on("inventory.take_stock", "order.placed")])).build().await.unwrap();
    publish(&old, "o1").await;
    let logs = Logs::warnings();
    let new = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    assert_eq!(new.drain().await.unwrap().executions, 0);
    let job = shop.sandbox.jobs().await.of("inventory.take_stock").only().clone();
    assert_eq!((job.status.as_str(), job.attempts), ("pending", 0));
    let unclaimed = new.unclaimed().await.unwrap();
    assert_eq!(unclaimed.len(), 1);
    assert_eq!(
        (unclaimed[0].job_type.as_str(), unclaimed[0].version, unclaimed[0].waiting),
        ("inventory.take_stock", 1, 1)
    );
    let lines = logs.lines();
    let says = |words: &str| lines.iter().any(|line| line.contains("inventory.take_stock") && line.contains(words));
    assert!(says("`aliases(\"inventory.take_stock\")` at its new name"), "{lines:#?}");
    assert!(says("`outbox.retire(\"inventory.take_stock\").await?`"), "{lines:#?}");
    assert!(says("waiting=1") && says("`outbox.cancel(job, ..)`"), "{lines:#?}");
    let mut renamed = on("inventory.count", "order.placed");
    renamed.aliases = &["inventory.take_stock"];
    let logs = Logs::warnings();
    let mended = shop.bare(linking([renamed])).build().await.unwrap();
    assert!(logs.lines().is_empty(), "{:?}", logs.lines());
    assert!(mended.unclaimed().await.unwrap().is_empty());
    mended.drain().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.of("inventory.take_stock").only().status, "succeeded");
}

/// S0-10: a renamed handler keeps its activation: it is neither activated nor backfilled a second time, and stands once in the
/// catalogue.
#[tokio::test]
async fn a_renamed_handler_keeps_its_activation() {
    const ACTIVATION: &str = "select concat_ws(' ', activated_at, activation_snapshot, barrier_xid, backfilled_at) from :schema.subscription";
    let shop = Shop::new().await;
    let old = shop.bare(linking([on("inventory.take_stock", "order.placed")])).build().await.unwrap();
    let backfilled = async {
        outbox_testing::eventually("the activation is backfilled", async || {
            holds(&shop.sandbox, "select backfilled_at is not null from :schema.subscription").await.then_some(())
        })
        .await;
    };
    old.run(backfilled).await.unwrap();
    let before = text(&shop.sandbox, ACTIVATION).await;
    let mut renamed = on("inventory.count", "order.placed");
    renamed.aliases = &["inventory.take_stock"];
    shop.bare(linking([renamed])).build().await.unwrap();
    assert_eq!(texts(&shop.sandbox, "select handler from :schema.subscription").await, ["inventory.count"]);
    assert_eq!(text(&shop.sandbox, ACTIVATION).await, before);
}

/// S0-10: an old binary that restarts in the middle of a rolling deploy does not bring an earlier name back.
#[tokio::test]
async fn an_old_binary_does_not_bring_an_earlier_name_back() {
    let shop = Shop::new().await;
    let mut renamed = on("inventory.count", "order.placed");
    renamed.aliases = &["inventory.take_stock"];
    shop.bare(linking([renamed])).build().await.unwrap();
    let old = shop.bare(linking([on("inventory.take_stock", "order.placed")])).build().await.unwrap();
    let rows =
        texts(&shop.sandbox, "select handler || ' ' || array_to_string(aliases, ',') from :schema.subscription").await;
    assert_eq!(rows, ["inventory.count inventory.take_stock"]);
    assert_eq!(publish(&old, "o1").await.jobs, 1);
    assert_eq!(shop.sandbox.jobs().await.only().handler, "inventory.count");
}

/// Declaring again what is declared writes nothing.
#[tokio::test]
async fn declaring_again_writes_nothing() {
    const ROWS: &str = "select string_agg(concat_ws(' ', handler, xmin, ctid, activated_at), ',' order by handler) from :schema.subscription";
    let shop = Shop::new().await;
    shop.bare(five()).build().await.unwrap();
    let before = text(&shop.sandbox, ROWS).await;
    shop.bare(five()).build().await.unwrap();
    shop.bare(only_events()).build().await.unwrap();
    assert_eq!(text(&shop.sandbox, ROWS).await, before);
}

/// S0-10: binaries that start at once with the same handlers, in whatever order they link them, declare each once.
#[tokio::test]
async fn binaries_that_start_at_once_declare_each_handler_once() {
    let shop = Shop::new().await;
    let builds: Vec<_> = (0..6)
        .map(|n| {
            let mut handlers = FIVE.map(|name| on(name, "order.placed"));
            handlers.rotate_left(n % 5);
            tokio::spawn(shop.bare(linking(handlers)).build())
        })
        .collect();
    for build in builds {
        build.await.unwrap().unwrap();
    }
    assert_eq!(texts(&shop.sandbox, "select handler from :schema.subscription order by 1").await, FIVE);
}

/// A retired subscriber gets no job, of no binary, over every new declaration, until it is activated again; the jobs that it
/// has are run.
#[tokio::test]
async fn a_retired_subscriber_stays_retired() {
    let shop = Shop::new().await;
    let worker = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    publish(&worker, "before").await;
    worker.retire("inventory.count").await.unwrap();
    let mut changed = on("inventory.count", "order.placed");
    changed.settings = Settings { max_attempts: 4, ..Settings::DEFAULT };
    let again = shop.bare(linking([changed])).build().await.unwrap();
    let web = shop.bare(only_events()).build().await.unwrap();
    for publisher in [&worker, &again, &web] {
        assert_eq!(publish(publisher, "retired").await.jobs, 0);
    }
    let mut renamed = on("inventory.tally", "order.placed");
    renamed.aliases = &["inventory.count"];
    let renamed = shop.bare(linking([renamed])).build().await.unwrap();
    assert_eq!(publish(&renamed, "retired").await.jobs, 0, "nor under a new name");
    assert_eq!(renamed.drain().await.unwrap().executions, 1, "what it had is run");
    renamed.activate("inventory.tally").await.unwrap();
    assert_eq!(publish(&web, "after").await.jobs, 1);
    let unknown = renamed.retire("inventory.unknown").await.unwrap_err();
    assert!(
        unknown.to_string().starts_with("the catalogue knows no subscriber `inventory.unknown`: write its stored name")
    );
    assert!(renamed.activate("inventory.unknown").await.is_err());
}

/// S0-10: a subscriber is not retired by absence: while no binary links it its events have jobs, which wait.
#[tokio::test]
async fn absence_retires_nobody() {
    let shop = Shop::new().await;
    drop(shop.bare(five()).build().await.unwrap());
    let other = shop.bare(linking([on("search.index", "product.catalogued")])).build().await.unwrap();
    assert_eq!(publish(&other, "o1").await.jobs, 5);
    assert_eq!(other.drain().await.unwrap().executions, 0);
    assert_eq!(shop.sandbox.jobs().await.live(), 5);
    let unclaimed = other.unclaimed().await.unwrap();
    assert_eq!(unclaimed.iter().map(|one| one.job_type.as_str()).collect::<Vec<_>>(), FIVE);
}

/// An event whose active in-transaction subscriber this binary does not link is refused, by name, before it can commit
/// without it; a retired one is no obstacle. The transaction goes on.
#[tokio::test]
async fn an_unlinked_in_transaction_subscriber_refuses_its_event() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    shop.sandbox
        .execute(
            "insert into :schema.subscription (handler, source, kind, max_attempts, priority)
             values ('audit.write', 'order.*', 'in_transaction', 1, 1), ('audit.other', 'payment.*', 'in_transaction', 1, 1)",
        )
        .await;
    let mut tx = outbox.begin().await.unwrap();
    let refused = outbox.publish(&mut tx, &OrderPlaced::of("o1")).key("k").await.unwrap_err();
    assert!(
        matches!(&refused, PublishError::Unlinked { name: "order.placed", handlers } if handlers == &["audit.write"])
    );
    assert_eq!(
        refused.to_string(),
        "`order.placed` was not published: its in-transaction subscribers `audit.write` are not linked into this binary; add their \
         crates to `outbox::modules![..]`"
    );
    assert_usable(tx, &shop.sandbox).await;
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
    assert!(shop.sandbox.jobs().await.is_empty());
    assert_eq!(shop.sandbox.number("select count(*) from :schema.publish_key").await, 0, "the key is free");
    outbox.retire("audit.write").await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish(&mut tx, &OrderPlaced::of("o1")).key("k").await.unwrap();
    assert_eq!((published.jobs, published.duplicate), (1, false));
}

/// S0-10: the catalogue decides for the binary: a handler that now receives another event has no job of the old one, whoever
/// publishes.
#[tokio::test]
async fn a_handler_that_moved_to_another_event_has_no_job_of_the_old_one() {
    let shop = Shop::new().await;
    let old = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    shop.bare(linking([on("inventory.count", "order.vanished")])).build().await.unwrap_err();
    assert_eq!(publish(&old, "o1").await.jobs, 1, "a binary that is refused declares nothing");
    shop.bare(linking([on_any("inventory.count", "payment.*")])).build().await.unwrap();
    assert_eq!(publish(&old, "o2").await.jobs, 0);
}
