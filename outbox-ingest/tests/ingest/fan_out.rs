//! Whose jobs: the same subscribers as of a publish.

use std::time::Duration;

use outbox_ingest::QuarantineClass;
use outbox_testing::fault::Session;

use crate::fake::Sent;
use crate::floor::{Floor, Running, linking, new_id, policies, policy};

fn handlers(jobs: &outbox_testing::Jobs) -> Vec<&str> {
    jobs.0.iter().map(|job| job.handler.as_str()).collect()
}

fn claim(number: &str) -> Sent {
    Sent::event(&new_id().to_string(), "claim.filed.v1", &format!(r#"{{"number":"{number}"}}"#))
}

/// Subscribers that this binary does not link, by name and by pattern, get their jobs; a retired one does not.
#[tokio::test]
async fn subscribers_of_the_catalogue_get_their_jobs() {
    let floor = Floor::new().await;
    let others = floor.outbox(&["billing.book", "billing.note", "log.keep"]).await;
    let outbox = floor.outbox(&[]).await;
    floor.take(&outbox, &policies(1)).await;
    assert_eq!(handlers(&floor.jobs().await), ["billing.book", "billing.note", "log.keep"]);
    others.retire("billing.note").await.unwrap();
    floor.take(&outbox, &policies(1)).await;
    let jobs = floor.jobs().await;
    assert_eq!((jobs.len(), jobs.of("billing.note").len()), (5, 1));
}

/// A job carries the version that came, so that a binary claims what it can read.
#[tokio::test]
async fn a_job_waits_for_a_binary_that_reads_its_version() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book", "billing.note"]).await;
    let second = Sent::event(&new_id().to_string(), "policy.created.v2", r#"{"number":"p2","currency":"CHF"}"#);
    floor.take(&outbox, &[policy("p1"), second]).await;
    let versions = "select count(*) from :schema.job_live where (job_type, payload_version) in
                    (('billing.book', 1), ('billing.book', 2), ('billing.note', 0))";
    assert_eq!(floor.sandbox.number(versions).await, 4);
    outbox.drain().await.unwrap();
    assert_eq!((floor.effects("book", "p1").await, floor.effects("book", "p2").await), (1, 1));
}

/// An event that is declared here and that nobody receives is stored, as one that is published, and counted as unrouted.
#[tokio::test]
async fn an_event_that_nobody_receives_is_stored_and_told_of() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let viewed = Sent::event(&new_id().to_string(), "policy.viewed.v1", r#"{"number":"p1"}"#);
    let status = floor.take(&outbox, &[viewed]).await.status();
    assert_eq!((status.stored, status.unrouted, floor.events().await), (1, 1, 1));
    assert_eq!(floor.jobs().await.len(), 0);
}

/// In-transaction subscribers see an event before it commits, once; one that they refuse is quarantined, and the others of its batch are not.
#[tokio::test]
async fn in_transaction_subscribers_see_it_in_its_transaction() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["audit.keep", "billing.book"]).await;
    let good = claim("c1");
    floor.take(&outbox, &[policy("p1"), claim("refused"), good.clone(), good]).await;
    assert_eq!((floor.effects("audit", "c1").await, floor.effects("audit", "refused").await), (1, 0));
    let quarantined = floor.quarantined(&outbox).await;
    assert_eq!((quarantined.len(), quarantined[0].class.as_str()), (1, QuarantineClass::Refused.as_str()));
    assert!(quarantined[0].reason.contains("`audit.keep`: the audit says no"), "{}", quarantined[0].reason);
    assert_eq!((floor.events().await, floor.jobs().await.len()), (2, 1));
}

/// A binary that does not link one must not let an event past it.
#[tokio::test]
async fn an_event_does_not_pass_an_in_transaction_subscriber_that_is_not_linked() {
    let floor = Floor::new().await;
    drop(floor.outbox(&["audit.keep"]).await);
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.take(&outbox, &[claim("c1"), policy("p1")]).await;
    let quarantined = floor.quarantined(&outbox).await;
    assert_eq!((quarantined.len(), quarantined[0].class.as_str()), (1, "refused"));
    assert!(quarantined[0].reason.contains("audit.keep"), "{}", quarantined[0].reason);
    assert_eq!(floor.events().await, 1);
}

/// B21: an event whose id is old, from a broker that was away for days, comes while a subscriber is being activated, whose backfill looks at
/// the ids of the last day only. It waits for the activation, and has its job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_event_and_a_new_subscriber_do_not_miss_each_other() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.outbox(&["billing.note"]).await.retire("billing.note").await.unwrap();
    let url = outbox_testing::Sandbox::url().await;
    // An activation that has not committed yet, as far as the catalogue shows it.
    let activation =
        format!("update {} set retired_at = null where handler = 'billing.note'", floor.sandbox.table("subscription"));
    let activation = Session::write(&url, &activation).await.unwrap();
    let ingest = floor.ingest_with(|builder| builder.hold(Duration::from_mins(1)));
    let running = Running::start(&ingest, &outbox);
    floor.fake.send(&Sent::event("01ARZ3NDEKTSV4RRFFQ69G5FAV", "policy.created.v1", r#"{"number":"p1"}"#));
    outbox_testing::eventually("it is in hand", async || (ingest.status().held == 1).then_some(())).await;
    floor.until_somebody_waits().await;
    assert_eq!(floor.events().await, 0);
    activation.commit().await.unwrap();
    floor.fake.until_acknowledged(1).await;
    running.stop().await;
    assert_eq!(handlers(&floor.jobs().await), ["billing.book", "billing.note"]);
    assert!(linking(&["billing.note"]).subscribers().len() == 1);
}
