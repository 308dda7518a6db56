//! The kinds of jobs, and what those who run the server see of the dead ones.

use outbox::Registry;
use reqwest::{Method, StatusCode};
use serde_json::json;
use solopm as _;
use solopm::mail::Mood;

use crate::house::House;

/// S1-56: the kinds of job that there are, each with a handler here; a job of a kind that nobody knows, as an older release has it when a
/// newer one was rolled back, waits and keeps no other from running.
#[tokio::test]
async fn an_unknown_kind_waits_and_stops_nobody() {
    let registry = Registry::linked();
    let handlers: Vec<_> = registry.subscribers().iter().map(|handler| handler.name).collect();
    let kinds = ["notifications.send_email", "search.search_sync", "notifications.daily_digest", "retention.cull"];
    for kind in kinds {
        assert!(handlers.contains(&kind), "{kind} in {handlers:?}");
    }
    let house = House::open().await;
    house
        .execute(
            "insert into system.job_live (id, job_type, payload_version, payload, metadata, max_attempts, priority)
             values (gen_random_uuid(), 'planets.discover', 1, '{}', '{}', 8, 0)",
        )
        .await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    ann.project("House", &[&bob]).await;
    house.drain().await;
    assert_eq!(house.mails().len(), 1);
    let unknown = house.jobs().await.of("planets.discover").only().clone();
    assert_eq!((unknown.status.as_str(), unknown.attempts), ("pending", 0), "uncharged");
    assert_eq!(house.outbox.unclaimed().await.unwrap().len(), 1, "and reported");
}

/// S1-54, S1-31, S1-32: a dead job is listed for those who run the server, with its error, until one of them gives it a new life; to others it
/// is not shown. Meanwhile everything else goes on.
#[tokio::test]
async fn a_dead_job_is_listed_and_lives_again() {
    let house = House::open().await;
    let (root, ann, bob) = (house.admin().await, house.person("ann").await, house.person("bob").await);
    house.post.set_mood(Mood::Unwilling);
    let project = ann.project("House", &[&bob]).await;
    house.drain().await;
    house.post.set_mood(Mood::Willing);
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    house.drain().await;
    assert_eq!(house.mails().len(), 1, "the next mail leaves");
    assert_eq!(ann.ask(Method::GET, "/api/admin/dead", None).await.0, StatusCode::FORBIDDEN);
    let dead = root.get("/api/admin/dead").await;
    assert_eq!(dead.as_array().unwrap().len(), 1);
    assert_eq!(dead[0]["kind"], "notifications.send_email");
    assert!(dead[0]["last_error"].as_str().unwrap().contains("550"), "{dead}");
    let redrive = format!("/api/admin/dead/{}/redrive", dead[0]["id"].as_str().unwrap());
    root.post(&redrive, json!({})).await;
    house.drain().await;
    assert_eq!(house.mails().len(), 2);
    assert_eq!(root.get("/api/admin/dead").await, json!([]));
    let (status, _) = root.ask(Method::POST, &redrive, Some(json!({}))).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "it is not dead any more");
}

/// S1-12: PostgreSQL is the only queue: nothing here speaks to another.
#[test]
fn there_is_no_other_queue() {
    let manifest = include_str!("../../Cargo.toml");
    for other in ["redis", "fred", "lapin", "amqp", "nats", "kafka", "sqs", "pulsar", "deadpool", "apalis"] {
        assert!(!manifest.contains(other), "{other}");
    }
}
