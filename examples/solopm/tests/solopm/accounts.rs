//! Accounts, tokens, and who may what.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::house::House;

/// A token opens an account until it is revoked; a wrong one opens nothing, and both are in the audit.
#[tokio::test]
async fn a_token_opens_until_it_is_revoked() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    assert_eq!(ann.post("/api/login", json!({ "token": ann.token })).await["username"], "ann");
    let (status, _) = house.stranger().ask(Method::GET, "/api/me", None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let given = ann.post("/api/me/tokens", json!({})).await;
    let mut other = ann.clone();
    other.token = given["token"].as_str().unwrap().to_owned();
    assert_eq!(other.get("/api/me").await["username"], "ann");
    ann.delete(&format!("/api/me/tokens/{}", given["id"])).await;
    assert_eq!(other.ask(Method::GET, "/api/me", None).await.0, StatusCode::UNAUTHORIZED);
    let auth = house.texts("select action_type from solopm.audit_log where action_type like 'auth.%' order by 1").await;
    assert_eq!(auth, ["auth.login_succeeded", "auth.token_created", "auth.token_created", "auth.token_revoked"]);
    let kept = house.number("select count(*) from solopm.audit_log where payload::text like '%token of%'").await;
    assert_eq!(kept, 0, "no token is in any payload");
}

/// To whoever does not belong to it, a project is not there.
#[tokio::test]
async fn a_project_is_there_for_its_members() {
    let house = House::open().await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[]).await;
    assert_eq!(bob.ask(Method::GET, &project, None).await.0, StatusCode::NOT_FOUND);
    ann.post(&format!("{project}/members/{}", bob.id), json!({ "role": "viewer" })).await;
    bob.get(&project).await;
    let (status, answer) = bob.ask(Method::POST, &format!("{project}/issues"), Some(json!({ "title": "x" }))).await;
    assert_eq!(
        (status, answer["error"].as_str()),
        (StatusCode::FORBIDDEN, Some("only members of the project may do this"))
    );
}

/// Every kind of event has a request that publishes it, and none of them writes anything without publishing.
#[tokio::test]
async fn every_mutation_publishes() {
    let house = House::open().await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let root = house.admin().await;
    let other = ann.project("Garden", &[]).await;
    let other = other.rsplit('/').next().unwrap();
    let project = ann.project("House", &[&bob]).await;
    let at = |rest: &str| format!("{project}{rest}");
    root.post("/api/users", json!({ "username": "cem", "name": "Cem", "email": "cem@example.com" })).await;
    ann.put(&project, json!({ "title": "The house" })).await;
    ann.put(&at("/status"), json!({ "status": "on_hold" })).await;
    ann.put(&at(&format!("/members/{}", bob.id)), json!({ "role": "viewer" })).await;
    ann.put(&at(&format!("/dependencies/{other}")), json!({})).await;
    ann.delete(&at(&format!("/dependencies/{other}"))).await;
    ann.post(&at("/export"), json!({})).await;
    let label = ann.post(&at("/labels"), json!({ "name": "wood" })).await["id"].clone();
    ann.put(&at(&format!("/labels/{label}")), json!({ "name": "oak" })).await;
    let epic = ann.post(&at("/epics"), json!({ "title": "Doors" })).await["id"].clone();
    ann.put(&at(&format!("/epics/{epic}")), json!({ "title": "All doors" })).await;
    ann.put(&at(&format!("/epics/{epic}/status")), json!({ "status": "closed" })).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.issue(&project, "There is no wood").await;
    let on = |rest: &str| format!("{issue}{rest}");
    ann.put(&issue, json!({ "title": "It sticks", "description": "" })).await;
    ann.put(&on("/status"), json!({ "status": "doing" })).await;
    ann.put(&on("/assignee"), json!({ "user": bob.id })).await;
    ann.delete(&on("/assignee")).await;
    ann.put(&on("/place"), json!({ "rank": 5, "epic_id": epic, "parent_id": null })).await;
    ann.put(&on("/blockers/2"), json!({})).await;
    ann.delete(&on("/blockers/2")).await;
    ann.put(&on(&format!("/labels/{label}")), json!({})).await;
    ann.delete(&on(&format!("/labels/{label}"))).await;
    let link = ann.post(&on("/links"), json!({ "url": "https://example.com" })).await;
    ann.delete(&on(&format!("/links/{link}"))).await;
    let file = ann.post(&on("/attachments/plan.txt"), json!("a plan")).await;
    ann.delete(&on(&format!("/attachments/plan.txt/{file}"))).await;
    let comment = ann.post(&on("/comments"), json!({ "body": "Plane it?" })).await;
    ann.put(&on(&format!("/comments/{comment}")), json!({ "body": "Plane it." })).await;
    ann.put(&on(&format!("/comments/{comment}/resolved")), json!({})).await;
    ann.delete(&on(&format!("/comments/{comment}/resolved"))).await;
    ann.delete(&on(&format!("/comments/{comment}"))).await;
    ann.post(&at("/wiki/doors"), json!({ "title": "Doors", "body": "" })).await;
    ann.put(&at("/wiki/doors"), json!({ "title": "Doors", "body": "are heavy" })).await;
    ann.delete(&at("/wiki/doors")).await;
    ann.delete(&at(&format!("/epics/{epic}"))).await;
    ann.delete(&at(&format!("/labels/{label}"))).await;
    ann.put(&at("/owner"), json!({ "user": bob.id })).await;
    bob.delete(&at(&format!("/members/{}", ann.id))).await;
    bob.delete(&project).await;
    ann.put("/api/me", json!({ "name": "Ann", "email": "ann@example.com", "email_mode": "none" })).await;
    let token = ann.post("/api/me/tokens", json!({})).await["id"].clone();
    ann.delete(&format!("/api/me/tokens/{token}")).await;
    ann.post("/api/login", json!({ "token": ann.token })).await;
    ann.ask(Method::POST, "/api/login", Some(json!({ "token": "wrong" }))).await;
    bob.delete("/api/me").await;
    let published = house.texts("select distinct event_type from system.event order by 1").await;
    let mut missing = crate::taxonomy::listed();
    missing.retain(|name| !published.iter().any(|other| other == name));
    missing.retain(|name| !name.starts_with("webhook."));
    assert!(missing.is_empty(), "nothing publishes {missing:?}");
    house.drain().await;
    assert_eq!(house.jobs().await.failed(), 0);
}

/// S1-10: a mutation without an event is caught: its transaction does not commit, whichever table it writes to.
#[tokio::test]
async fn a_mutation_without_an_event_is_caught() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    ann.issue(&project, "The door sticks").await;
    for silent in [
        "update solopm.issues set title = 'Something else'",
        "update solopm.users set name = 'Somebody else'",
        "delete from solopm.projects",
    ] {
        let mut tx = house.outbox.begin().await.unwrap();
        sqlx::query(sqlx::AssertSqlSafe(silent)).execute(&mut *tx).await.unwrap();
        let refused = tx.commit().await.expect_err("it is refused").to_string();
        assert!(refused.contains("published no event"), "{refused}");
    }
    assert_eq!(ann.get(&format!("{project}/issues")).await[0]["title"], "The door sticks");
}
