//! `require_events`: a mutation without an event is caught, whoever wrote it.

use outbox::prelude::*;
use outbox_testing::require_events;
use sqlx::{Connection, Executor};

use crate::linkage::only_events;
use crate::sql::filled;
use crate::support::{OrderPlaced, Shop};

/// A shop whose parent and child rows are watched.
async fn watched() -> (Shop, Outbox) {
    let shop = Shop::new().await;
    shop.sandbox.execute("create table :schema.issue (id int primary key, title text not null)").await;
    let child = "create table :schema.comment (id int primary key, issue int not null references :schema.issue on delete cascade)";
    shop.sandbox.execute(child).await;
    shop.sandbox.execute("insert into :schema.issue values (1, 'one'), (2, 'two')").await;
    shop.sandbox.execute("insert into :schema.comment values (1, 1)").await;
    require_events(
        shop.sandbox.pool(),
        shop.sandbox.schema(),
        &[&shop.sandbox.table("issue"), &shop.sandbox.table("comment")],
    )
    .await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    (shop, outbox)
}

/// What the commit of a transaction with this statement comes to, after a publish if one is wanted.
async fn commit(shop: &Shop, outbox: &Outbox, statement: &str, publishes: bool) -> Result<(), String> {
    let mut tx = outbox.begin().await.unwrap();
    tx.execute(sqlx::raw_sql(filled(&shop.sandbox, statement))).await.unwrap();
    if publishes {
        outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    }
    tx.commit().await.map_err(|error| error.to_string())
}

/// S1-10: a transaction that writes and publishes nothing is refused at its commit, and says where it wrote; in bulk and by a cascade too.
#[tokio::test]
async fn a_mutation_without_an_event_is_refused() {
    let (shop, outbox) = watched().await;
    for (statement, place) in [
        ("insert into :schema.issue values (3, 'three')", "issue (insert)"),
        ("update :schema.issue set title = 'all'", "issue (update)"),
        ("delete from :schema.issue where id = 2", "issue (delete)"),
        ("delete from :schema.comment", "comment (delete)"),
    ] {
        let refused = commit(&shop, &outbox, statement, false).await.unwrap_err();
        assert!(refused.contains(&format!(".{place} and published no event")), "{refused}");
        commit(&shop, &outbox, statement, true).await.unwrap();
    }
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 4);
    // A cascade into a table that is watched, from one that is not.
    shop.sandbox.execute("drop trigger transaction_publishes on :schema.issue").await;
    let row = "set local outbox.publishes_nothing = 'a row to delete'; insert into :schema.comment values (2, 1)";
    commit(&shop, &outbox, row, false).await.unwrap();
    let refused = commit(&shop, &outbox, "delete from :schema.issue", false).await;
    assert!(refused.unwrap_err().contains(".comment (delete)"));
}

/// S1-10: an event that was undone is none, and one of another transaction is not this one's.
#[tokio::test]
async fn an_event_counts_in_its_own_transaction() {
    let (shop, outbox) = watched().await;
    commit(&shop, &outbox, "update :schema.issue set title = 'a'", true).await.unwrap();
    commit(&shop, &outbox, "update :schema.issue set title = 'b'", false).await.unwrap_err();
    let mut tx = outbox.begin().await.unwrap();
    tx.execute(filled(&shop.sandbox, "update :schema.issue set title = 'c'")).await.unwrap();
    let mut undone = tx.begin().await.unwrap();
    outbox.publish(&mut undone, &OrderPlaced::of("o1")).await.unwrap();
    undone.rollback().await.unwrap();
    tx.commit().await.unwrap_err();
    let mut tx = outbox.begin().await.unwrap();
    let mut kept = tx.begin().await.unwrap();
    kept.execute(filled(&shop.sandbox, "update :schema.issue set title = 'd'")).await.unwrap();
    outbox.publish(&mut kept, &OrderPlaced::of("o1")).await.unwrap();
    kept.commit().await.unwrap();
    tx.commit().await.unwrap();
}

/// What is read, or written elsewhere, needs no event; what needs none says why.
#[tokio::test]
async fn what_is_no_mutation_passes() {
    let (shop, outbox) = watched().await;
    commit(&shop, &outbox, "select from :schema.issue for update", false).await.unwrap();
    commit(&shop, &outbox, "insert into :schema.effect values ('a', 'b')", false).await.unwrap();
    commit(
        &shop,
        &outbox,
        "set local outbox.publishes_nothing = 'seeds'; insert into :schema.issue values (9, 'n')",
        false,
    )
    .await
    .unwrap();
}
