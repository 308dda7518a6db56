//! What each release publishes.

use contracts::{Money, PolicyCreated, PolicyCreatedV1, PolicyCreatedV2};
use platform::Release;
use reqwest::StatusCode;
use serde_json::json;

use crate::desk::{ANN, Desk, sale};

/// The first release publishes version 1; the second both, for consumers of either; the third its own alone. What a release cannot say it
/// does not sell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_release_publishes_what_its_consumers_know() {
    let (holder, premium) = ("Knoll".to_owned(), Money::euros(12_000));
    for (release, stored) in [(Release::First, 1), (Release::Second, 1), (Release::Third, 3)] {
        let desk = Desk::open(release).await;
        let policy_id = format!("P-{release}");
        assert_eq!(desk.sell(ANN, &sale(&policy_id)).await.0, StatusCode::OK);
        assert_eq!(desk.sandbox.number("select event_version::bigint from system.event").await, stored);
        let first: Vec<PolicyCreatedV1> = desk.sandbox.published().await;
        let is_readable = usize::from(release < Release::Third);
        assert_eq!(first.len(), is_readable, "by who knows version 1");
        let second: Vec<PolicyCreatedV2> = desk.sandbox.published().await;
        assert_eq!(second.len(), is_readable, "by who knows version 2");
        let third: Vec<PolicyCreated> = desk.sandbox.published().await;
        let (holder, premium) = (holder.clone(), premium.clone());
        assert_eq!(third, [PolicyCreated { policy_id, holder, premium, term: 12 }], "by who knows version 3");
    }
}

/// Francs are nothing that version 1 could say, and a term nothing that version 2 could.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_release_cannot_say_it_does_not_sell() {
    for (release, in_francs, for_two_years) in
        [(Release::First, 422, 422), (Release::Second, 200, 422), (Release::Third, 200, 200)]
    {
        let desk = Desk::open(release).await;
        let mut francs = sale("P-1");
        francs["premium"]["currency"] = json!("CHF");
        assert_eq!(desk.sell(ANN, &francs).await.0.as_u16(), in_francs, "{release}");
        let mut long = sale("P-2");
        long["term"] = json!(24);
        assert_eq!(desk.sell(ANN, &long).await.0.as_u16(), for_two_years, "{release}");
    }
}
