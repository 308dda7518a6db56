//! Commands that are carried out.

use contracts::{Money, PolicyAmended, PolicyCancelled};
use platform::Release;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::desk::{ANN, Desk, sale};

/// A change and its fact are there together, and a fact says all of what the policy is behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_and_its_fact_are_there_together() {
    let desk = Desk::open(Release::Second).await;
    desk.sell(ANN, &sale("P-1")).await;
    let change = json!({ "revision": 1, "premium": { "cents": 9_000, "currency": "CHF" } });
    let (status, amended) = desk.ask(ANN, Method::PUT, "policies/P-1/premium", &change).await;
    assert_eq!(
        (status, &amended["revision"], &amended["premium"]["cents"]),
        (StatusCode::OK, &json!(2), &json!(9_000))
    );
    let end = json!({ "revision": 2 });
    let (status, cancelled) = desk.ask(ANN, Method::POST, "policies/P-1/cancel", &end).await;
    assert_eq!((status, &cancelled["status"]), (StatusCode::OK, &json!("cancelled")));
    let (policy_id, holder) = ("P-1".to_owned(), "Knoll".to_owned());
    let premium = Money { cents: 9_000, currency: "CHF".to_owned() };
    let told: Vec<PolicyAmended> = desk.sandbox.published().await;
    let (id, who, costs) = (policy_id.clone(), holder.clone(), premium.clone());
    assert_eq!(told, [PolicyAmended { policy_id: id, holder: who, premium: costs, revision: 2 }]);
    let told: Vec<PolicyCancelled> = desk.sandbox.published().await;
    assert_eq!(told, [PolicyCancelled { policy_id, holder, premium, revision: 3 }]);
    let who = "select count(*) from system.event where metadata->>'actor' = 'ann'";
    assert_eq!(desk.sandbox.number(who).await, 3);
    assert_eq!(desk.ask(ANN, Method::GET, "policies/P-1", &Value::Null).await.1, cancelled);
}

/// A request whose answer was lost is sent again: it sells nothing twice, and changes nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_is_repeated_is_carried_out_once() {
    let desk = Desk::open(Release::Second).await;
    let first = desk.sell(ANN, &sale("P-1")).await;
    assert_eq!(desk.sell(ANN, &sale("P-1")).await, first);
    let mut other = sale("P-1");
    other["holder"] = json!("Berg");
    assert_eq!(desk.sell(ANN, &other).await.0, StatusCode::CONFLICT, "the number is another's");
    let change = json!({ "revision": 1, "premium": { "cents": 9_000, "currency": "EUR" } });
    for expected in [StatusCode::OK, StatusCode::CONFLICT] {
        assert_eq!(desk.ask(ANN, Method::PUT, "policies/P-1/premium", &change).await.0, expected);
    }
    assert_eq!(desk.sandbox.number("select count(*) from system.event").await, 2);
}

/// Those who compare read all policies, a page at a time, in the order of their numbers' bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_are_read_in_pages() {
    let desk = Desk::open(Release::Second).await;
    for policy_id in ["b", "A", "a", "\u{e9}", "B"] {
        desk.sell(ANN, &sale(policy_id)).await;
    }
    let page = async |path: &str| {
        let (_, page) = desk.ask(ANN, Method::GET, path, &Value::Null).await;
        page.as_array()
            .unwrap()
            .iter()
            .map(|policy| policy["policy_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(page("policies?most=2").await, ["A", "B"]);
    assert_eq!(page("policies?most=2&after=B").await, ["a", "b"]);
    assert_eq!(page("policies?after=b").await, ["\u{e9}"]);
}
