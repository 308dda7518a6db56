//! Webhooks that leave the house.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::house::{House, Person};
use crate::receiver::Receiver;

/// Tells a receiver of a project's events of these types, and answers the path of the endpoint.
async fn tell(owner: &Person, project: &str, receiver: &Receiver, types: &[&str]) -> String {
    let wish = json!({ "url": receiver.url, "event_types": types });
    let created = owner.post(&format!("{project}/webhooks"), wish).await;
    receiver.believe(&created["secret"]);
    format!("{project}/webhooks/{}", created["id"].as_str().unwrap())
}

/// S1-45, S1-46: an endpoint gets the events of its own project that it wants, signed, each once; none of another project, none without a
/// project, and none that it does not want. An empty list wants all, but an export is sent to nobody (S1-17).
#[tokio::test]
async fn endpoints_get_what_they_want_of_their_project() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let other = ann.project("Garden", &[]).await;
    house.drain().await;
    let (all, some, none) = (Receiver::open().await, Receiver::open().await, Receiver::open().await);
    let log = tell(&ann, &project, &all, &[]).await;
    tell(&ann, &project, &some, &["comment.created"]).await;
    tell(&ann, &other, &none, &["issue.*"]).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.post(&format!("{issue}/comments"), json!({ "body": "Plane it" })).await;
    ann.post(&format!("{project}/export"), json!({})).await;
    ann.post("/api/login", json!({ "token": ann.token })).await;
    house.drain().await;
    let kinds = |receiver: &Receiver| -> Vec<Value> {
        let mut kinds: Vec<_> = receiver.taken().into_iter().map(|(_, message)| message["type"].clone()).collect();
        kinds.sort_by_key(Value::to_string);
        kinds
    };
    assert_eq!(kinds(&all), ["comment.created", "issue.created"]);
    assert_eq!(kinds(&some), ["comment.created"]);
    assert_eq!(none.taken(), []);
    let (_, created) = all.until("issue.created").await;
    assert_eq!(created["data"]["issue_title"], "The door sticks");
    let log = ann.get(&format!("{log}/deliveries")).await;
    assert!(log.as_array().unwrap().iter().all(|one| one["status"] == "delivered"), "{log}");
}

/// S1-55, S1-47: a delivery that is dead shows as failed in the log, as its job does in the list of the dead; sent again by hand it arrives,
/// under the same id, and the log says so.
#[tokio::test]
async fn a_dead_delivery_is_failed_in_the_log_and_can_be_sent_again() {
    let house = House::open().await;
    let (root, ann) = (house.admin().await, house.person("ann").await);
    let project = ann.project("House", &[]).await;
    house.drain().await;
    let receiver = Receiver::open().await;
    let endpoint = tell(&ann, &project, &receiver, &[]).await;
    receiver.answer(StatusCode::SERVICE_UNAVAILABLE);
    ann.issue(&project, "The door sticks").await;
    for attempt in 1..=8 {
        house.drain().await;
        let log = ann.get(&format!("{endpoint}/deliveries")).await;
        assert_eq!(log[0]["attempts"], attempt);
        assert_eq!(log[0]["status"], if attempt < 8 { "pending" } else { "failed" });
        house.execute("update system.job_live set available_at = now()").await;
    }
    let dead = root.get("/api/admin/dead").await;
    assert_eq!((dead.as_array().unwrap().len(), &dead[0]["kind"]), (1, &json!("webhooks.deliver")));
    receiver.answer(StatusCode::OK);
    let log = ann.get(&format!("{endpoint}/deliveries")).await;
    ann.post(&format!("{endpoint}/deliveries/{}/again", log[0]["id"].as_str().unwrap()), json!({})).await;
    house.drain().await;
    let event = log[0]["event_id"].as_str().unwrap();
    assert_eq!(receiver.taken().len(), 1);
    assert_eq!(receiver.taken()[0].0, event);
    let log = ann.get(&format!("{endpoint}/deliveries")).await;
    assert_eq!((log.as_array().unwrap().len(), &log[0]["status"]), (1, &json!("delivered")));
}

/// Endpoints are their owner's: neither members nor the owner of another project see or change them.
#[tokio::test]
async fn endpoints_are_their_owners() {
    let house = House::open().await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    let other = bob.project("Garden", &[]).await;
    let receiver = Receiver::open().await;
    let endpoint = tell(&ann, &project, &receiver, &[]).await;
    assert_eq!(bob.ask(Method::DELETE, &endpoint, None).await.0, StatusCode::FORBIDDEN);
    let borrowed = endpoint.replace(&project, &other);
    assert_eq!(bob.ask(Method::DELETE, &borrowed, None).await.0, StatusCode::NOT_FOUND);
    ann.delete(&endpoint).await;
    assert_eq!(ann.get(&format!("{project}/webhooks")).await, json!([]));
}
