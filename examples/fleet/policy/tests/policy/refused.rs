//! Commands that are not carried out.

use platform::Release;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::desk::{ANN, BILLING, BOB, Desk, sale};

/// What is refused, and with what.
fn commands() -> Vec<(&'static str, Method, &'static str, Value, StatusCode)> {
    let with = |field: &str, value: Value| {
        let mut sale = sale("P-1");
        sale[field] = value;
        sale
    };
    let (sell, post, put) = ("policies", Method::POST, Method::PUT);
    let nothing = json!({ "cents": 0, "currency": "EUR" });
    let (refused, senseless) = (StatusCode::FORBIDDEN, StatusCode::UNPROCESSABLE_ENTITY);
    vec![
        ("nobody", post.clone(), sell, sale("P-1"), StatusCode::UNAUTHORIZED),
        (BILLING, post.clone(), sell, sale("P-1"), refused),
        (BILLING, put.clone(), "policies/P-0/premium", json!({ "revision": 1, "premium": nothing }), refused),
        (BOB, post.clone(), "policies/P-0/cancel", json!({ "revision": 1 }), refused),
        (ANN, post.clone(), sell, with("policy_id", json!(" ")), senseless),
        (ANN, post.clone(), sell, with("holder", json!("x".repeat(101))), senseless),
        (ANN, post.clone(), sell, with("premium", nothing.clone()), senseless),
        (ANN, post.clone(), sell, with("premium", json!({ "cents": 1, "currency": "eur" })), senseless),
        (ANN, post.clone(), sell, with("term", json!(0)), senseless),
        (ANN, post.clone(), sell, with("term", json!(24)), senseless),
        (ANN, post.clone(), sell, json!({ "policy_id": "P-1", "holder": "Knoll" }), senseless),
        (ANN, put, "policies/P-0/premium", json!({ "revision": 1, "premium": nothing }), senseless),
        (ANN, post, "policies/P-0/cancel", json!({ "revision": 0 }), senseless),
    ]
}

/// S2-13: a command that makes no sense, or that its giver may not give, is refused before any transaction: it is answered so where there
/// is no connection to begin one on, where a good command fails for want of it. Nothing of it is stored, and nothing is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_valid_or_not_allowed_begins_no_transaction() {
    let desk = Desk::open(Release::Second).await;
    assert_eq!(desk.sell(ANN, &sale("P-0")).await.0, StatusCode::OK);
    let stored = "select (select count(*) from system.event) * 100 + (select count(*) from policy.policies) * 10
                  + (select sum(revision) from policy.policies)";
    assert_eq!(desk.sandbox.number(stored).await, 111);
    for (token, method, path, command, expected) in commands() {
        let (status, said) = desk.ask(token, method, path, &command).await;
        assert_eq!(status, expected, "{token} {path} {command}: {said}");
    }
    assert_eq!(desk.sandbox.number(stored).await, 111, "as it was");
    desk.outbox.pool().close().await;
    for (token, method, path, command, expected) in commands() {
        let (status, said) = desk.ask(token, method, path, &command).await;
        assert_eq!(status, expected, "without a connection: {token} {path} {command}: {said}");
    }
    let (status, _) = desk.sell(ANN, &sale("P-1")).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "a good one needs a transaction");
}
