//! Order placed, mechanically.

use orders::{OrderPlaced, draft_order, place_order};
use uuid::Uuid;

use storefront_testing::{SUBSCRIBERS, Shop, an_order, place};

/// S0-41: one transaction sets the status, inserts one event with subject and summary, and exactly five jobs of that event.
#[tokio::test]
async fn one_transaction_writes_status_event_and_five_jobs() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    let order = an_order("10248");
    let published = place(&outbox, &order).await;
    assert_eq!(published.jobs, 5);

    let status: String = sqlx::query_scalar("select status from orders.order").fetch_one(shop.pool()).await.unwrap();
    assert_eq!(status, "paid");
    let events: Vec<(Uuid, String, String, Option<String>, String)> =
        sqlx::query_as("select id, event_type, subject_type, subject_id, payload::text from system.event")
            .fetch_all(shop.pool())
            .await
            .unwrap();
    let [(id, event, subject_type, subject_id, payload)] = events.as_slice() else { panic!("one event: {events:?}") };
    assert_eq!((*id, event.as_str()), (published.event_id.as_uuid(), "order.placed"));
    assert_eq!((subject_type.as_str(), subject_id.as_deref()), ("order", Some("10248")));
    let summary: OrderPlaced = outbox::Payload::from_json(payload.as_str()).decode().unwrap();
    assert_eq!(summary, OrderPlaced::from(&order));
    assert_eq!((summary.lines, summary.units, summary.revenue_cents), (2, 17, 23_580));

    let jobs: Vec<(String, Option<Uuid>)> =
        sqlx::query_as("select job_type, event_id from system.job order by job_type")
            .fetch_all(shop.pool())
            .await
            .unwrap();
    let expected: Vec<_> = SUBSCRIBERS.iter().map(|name| ((*name).to_owned(), Some(*id))).collect();
    assert_eq!(jobs, expected);
    // All of it by one transaction: the rows carry its number.
    let transactions = "select count(distinct x)::bigint from (select xmin::text as x from orders.order union all
                        select xmin::text from system.event union all select xmin::text from system.job_live) t";
    assert_eq!(shop.number(transactions).await, 1);
}

/// S0-41: and where that transaction is rolled back, nothing of it is there.
#[tokio::test]
async fn a_rollback_leaves_nothing() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    let order = an_order("10248");
    let mut tx = outbox.begin().await.unwrap();
    draft_order(&mut tx, &order).await.unwrap();
    outbox.scope(place_order(&mut tx, &order)).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(shop.number("select count(*) from orders.order").await, 0);
    assert_eq!(shop.number("select count(*) from system.event").await, 0);
    assert_eq!(shop.number("select count(*) from system.job").await, 0);
}

/// A request that is repeated does not publish twice: the order's number is the publish key.
#[tokio::test]
async fn a_repeated_request_publishes_once() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    let first = place(&outbox, &an_order("10248")).await;
    let again = place(&outbox, &an_order("10248")).await;
    assert_eq!((again.event_id, again.duplicate, again.jobs), (first.event_id, true, 0));
    assert_eq!(shop.number("select count(*) from system.job").await, 5);
}

/// An order that was never drafted, or was cancelled since, cannot be placed.
#[tokio::test]
async fn only_a_draft_is_placed() {
    let shop = Shop::open().await;
    let outbox = shop.outbox().await;
    let order = an_order("10248");
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.scope(place_order(&mut tx, &order)).await.unwrap_err();
    assert_eq!(error.to_string(), "order `10248` cannot be placed: there is no draft of it");
    draft_order(&mut tx, &order).await.unwrap();
    sqlx::query("update orders.order set status = 'cancelled'").execute(&mut *tx).await.unwrap();
    outbox.scope(place_order(&mut tx, &order)).await.unwrap_err();
    tx.commit().await.unwrap();
    assert_eq!(shop.number("select count(*) from system.event").await, 0);
}

/// S0-42: each module's worker claims and runs its own jobs, and leaves the others as they are.
#[tokio::test]
async fn each_module_works_by_itself() {
    let shop = Shop::open().await;
    place(&shop.outbox().await, &an_order("10248")).await;
    for (place, (module, done)) in
        [("notifications", 1), ("inventory", 1), ("automation", 2), ("analytics", 1)].into_iter().enumerate()
    {
        let worker = shop.worker().modules([module]).build().await.unwrap();
        assert_eq!(worker.drain().await.unwrap().executions, done, "{module}");
        let finished: Vec<_> = shop.jobs().await.into_iter().filter(|(_, status, _)| status == "succeeded").collect();
        let expected = [1, 2, 4, 5][place];
        assert_eq!(finished.len(), expected, "behind {module}: {finished:?}");
        let of_module = finished.iter().filter(|(handler, _, _)| handler.starts_with(&format!("{module}."))).count();
        assert_eq!(u64::try_from(of_module).unwrap(), done);
    }
}

/// S0-42: a module that fails again and again, or whose worker does not run, keeps nobody waiting.
#[tokio::test]
async fn a_failing_module_holds_nobody_up() {
    let shop = Shop::open().await;
    shop.execute("alter table inventory.stock rename to away").await;
    let outbox = shop.outbox().await;
    place(&outbox, &an_order("10248")).await;
    outbox.drain().await.unwrap();
    for handler in SUBSCRIBERS {
        let expected = if handler.starts_with("inventory.") { "pending" } else { "succeeded" };
        assert_eq!(shop.status_of(handler).await, expected, "{handler}");
    }
}
