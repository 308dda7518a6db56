//! It commits with the event, once, or neither is there.

use outbox::Registry;
use outbox_testing::fault::Point;
use sqlx::AssertSqlSafe;

use super::{Audit, Audited, of};
use crate::proxy;
use crate::sql::{assert_usable, holds, texts};
use crate::support::OrderPlaced;

/// S1-2, S1-4: the audit's row is written inside of `publish`, before it answers; a rollback leaves neither it nor the event, a commit
/// exactly one of each. S1-15: it holds the event's own name. S1-1: and who did it.
#[tokio::test]
async fn a_row_for_each_event_commits_with_it_or_not_at_all() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish(&mut tx, &of("a")).actor("ann").await.unwrap();
    assert_eq!(published.jobs, 0, "it has no job");
    let seen: i64 =
        sqlx::query_scalar(AssertSqlSafe(format!("select count(*) from {}", audited.shop.sandbox.table("audit_log"))))
            .fetch_one(&mut *tx)
            .await
            .unwrap();
    assert_eq!((seen, audited.audited().await), (1, 0), "in the caller's transaction, and only there");
    tx.rollback().await.unwrap();
    assert_eq!((audited.events().await, audited.audited().await), (0, 0));

    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &of("b")).actor("ann").await.unwrap();
    outbox.publish_all(&mut tx, &[OrderPlaced::of("o1"), OrderPlaced::of("o2")]).await.unwrap();
    tx.commit().await.unwrap();
    let rows = "select action || ' ' || coalesce(who, '-') || ' ' || subject_id from :schema.audit_log order by 1";
    assert_eq!(
        texts(&audited.shop.sandbox, rows).await,
        ["order.placed - o1", "order.placed - o2", "wish.uttered ann b"]
    );
    let same = "select count(*) = 3 and bool_and(a.occurred_at = e.occurred_at) from :schema.audit_log a
                join :schema.event e on e.id = a.event_id and e.event_type = a.action";
    assert!(holds(&audited.shop.sandbox, same).await, "the event's own id and time");
    assert!(audited.shop.sandbox.jobs().await.is_empty());
}

/// S1-4: a publish key that was published before writes nothing, so the subscriber does not run again; of a batch it runs for what is
/// new.
#[tokio::test]
async fn a_duplicate_key_runs_nothing() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    for duplicate in [false, true] {
        let mut tx = outbox.begin().await.unwrap();
        let published = outbox.publish(&mut tx, &of("a")).key("k1").await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(published.duplicate, duplicate);
    }
    let mut tx = outbox.begin().await.unwrap();
    let wishes = ["c", "a", "b", "b"].map(of);
    let published = outbox.publish_all(&mut tx, &wishes).keys(["k3", "k1", "k2", "k2"]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(published.iter().map(|one| one.duplicate).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(audited.shop.script.notes(), ["a", "c", "b"]);
    assert_eq!((audited.events().await, audited.audited().await), (3, 3));
}

/// A future that is dropped in the middle leaves no event without its subscribers, even if the transaction is then committed.
#[tokio::test]
async fn a_publish_that_is_dropped_leaves_no_event() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let script = audited.shop.script.clone();
    {
        let publish = std::future::IntoFuture::into_future(outbox.publish(&mut tx, &of("to wait")));
        let began = outbox_testing::eventually("the subscriber has begun", async || {
            (script.count("to wait") > 0).then_some(())
        });
        tokio::select! {
            _ = publish => panic!("it waits"),
            () = began => {}
        }
    }
    assert_usable(tx, &audited.shop.sandbox).await;
    assert_eq!((audited.events().await, audited.audited().await), (0, 0));
}

/// S1-4: at whichever statement the connection is lost, event and audit are both there or neither is, and a repeat under the same key
/// leaves exactly one of each.
#[tokio::test]
async fn a_connection_that_is_lost_leaves_both_or_none() {
    let audited = Audited::new().await;
    let proxy = proxy::start().await;
    let state = Audit(audited.shop.sandbox.table("audit_log"));
    let registry = Registry::linked().with_subscribers(|one| one.name == "audit.keep");
    let outbox = audited.shop.sandbox.outbox_on(proxy::pool(&proxy)).registry(registry).state(state);
    let outbox = outbox.poll_only().build().await.unwrap();
    let try_once = async |key: &str| {
        let mut tx = outbox.begin().await?;
        outbox.publish(&mut tx, &of(key)).key(key).await?;
        Ok::<_, outbox::BoxError>(tx.commit().await?)
    };
    let mut keys = 0;
    for statement in ["savepoint", "publish_keyed", "bound", "insert", "lift", "release", "commit"] {
        for point in [Point::before(statement), Point::after(statement)] {
            let key = point.to_string();
            let cut = proxy.cut_at(point);
            try_once(&key).await.expect_err("the connection is lost");
            cut.until_reached().await;
            let committed = i64::from(key == "after `commit`");
            assert_eq!(
                (audited.events().await, audited.audited().await),
                (keys + committed, keys + committed),
                "{key}"
            );
            try_once(&key).await.unwrap();
            keys += 1;
            assert_eq!((audited.events().await, audited.audited().await), (keys, keys), "{key}");
        }
    }
}
