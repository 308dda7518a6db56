//! Each release by itself.

use contracts::{Money, PolicyCreated, PolicyCreatedV1, PolicyCreatedV2};
use outbox::{Fault, TypeMap};
use outbox_testing::Sandbox;
use platform::Release;

use crate::books::Books;

const RELEASES: [Release; 3] = [Release::First, Release::Second, Release::Third];

fn sold(release: Release) -> (PolicyCreatedV1, PolicyCreatedV2, PolicyCreated) {
    let (policy_id, holder) = (format!("P-{release}"), "Knoll".to_owned());
    let first = PolicyCreatedV1 { policy_id, holder, premium_cents: 100 };
    let second = PolicyCreatedV2 { premium: Money { cents: 100, currency: "CHF".to_owned() }, ..first.clone().into() };
    let third = PolicyCreated { term: 24, ..second.clone().into() };
    (first, second, third)
}

/// What a build of each release would have linked fits together, and is the same by name.
#[test]
fn each_release_fits_together() {
    for release in RELEASES {
        let registry = billing::releases::registry(release);
        let mut faults = registry.faults(&TypeMap::default());
        faults.retain(|fault| !matches!(fault, Fault::MissingState { .. }));
        assert_eq!(faults, [], "{release}");
        let names: Vec<_> = registry.subscribers().iter().map(|one| one.name).collect();
        let expected = [
            "billing.charge",
            "billing.project_amended",
            "billing.project_cancelled",
            "billing.project_created",
            "billing.relay",
        ];
        assert_eq!(names, expected, "{release}");
        let known = registry.events().iter().filter(|event| event.name == "policy.created").count();
        assert_eq!(known, release.version() as usize, "{release}");
    }
}

#[test]
fn stored_names_are_kept() {
    outbox_testing::assert_names_kept(concat!(env!("CARGO_MANIFEST_DIR"), "/outbox.names"));
}

/// S2-12: each release charges for what it knows, of what is published as both it reads all that it can, and what it does not know waits
/// for the next, which then charges for it; nothing is charged for twice on the way.
#[tokio::test]
async fn what_a_release_does_not_know_waits_for_the_next() {
    let books = Books::open(Release::First).await;
    let (first, second, third) = sold(Release::First);
    books.told(&first).await;
    books.told(&PolicyCreatedV2 { policy_id: "P-both".to_owned(), ..second }).await;
    books.told(&PolicyCreated { policy_id: "P-third".to_owned(), ..third }).await;
    assert_eq!(currencies(&books.sandbox).await, ["P-1 EUR", "P-both EUR"], "as version 1 says it");
    for release in [Release::Second, Release::Third] {
        let registry = billing::releases::registry(release).with_subscribers(|one| one.name != "billing.relay");
        books.sandbox.outbox().registry(registry).build().await.unwrap().drain().await.unwrap();
    }
    assert_eq!(currencies(&books.sandbox).await, ["P-1 EUR", "P-both EUR", "P-third CHF"]);
    let attempts = "select max(attempts)::bigint from system.job_succeeded";
    assert_eq!(books.sandbox.number(attempts).await, 1, "waiting charges nothing");
}

async fn currencies(sandbox: &Sandbox) -> Vec<String> {
    let charges = sqlx::query_scalar("select policy_id || ' ' || currency from billing.ledger order by policy_id");
    charges.fetch_all(sandbox.pool()).await.unwrap()
}
