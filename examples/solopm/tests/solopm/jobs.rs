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

/// S1-54: a dead job is listed for those who run the server, with its error, until one of them gives it a new life; to others it
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

/// S1-31, S1-32, S1-51: a consumer whose statement the database refuses, which aborts its transaction, has the attempt and the error written
/// down all the same and is tried again; behind the eighth failure it is dead: listed with its error, and not forgotten. The event's other
/// consumers have run meanwhile, and so have later events, one beside it that cannot even be read included. When the cause is gone, a new
/// life of the dead one does what was missed, once.
#[tokio::test]
async fn a_consumer_that_fails_is_kept_and_stops_nobody() {
    const RULE: &str = "notifications.issue_assigned";
    let house = House::open().await;
    let (root, ann, bob) = (house.admin().await, house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    let receiver = crate::receiver::Receiver::open().await;
    let wish = json!({ "url": receiver.url, "event_types": ["issue.assigned"] });
    receiver.believe(&ann.post(&format!("{project}/webhooks"), wish).await["secret"]);
    let issue = ann.issue(&project, "The door sticks").await;
    house.drain().await;
    house.execute("alter table solopm.notifications rename column headline to elsewhere").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    for attempt in 1..=8 {
        house.drain().await;
        let job = house.jobs().await.of(RULE).only().clone();
        assert_eq!((job.attempts, job.status.as_str()), (attempt, if attempt < 8 { "pending" } else { "failed" }));
        assert!(job.last_error.as_deref().is_some_and(|error| error.contains("headline")), "{:?}", job.last_error);
        house.execute("update system.job_live set available_at = now()").await;
    }
    assert_eq!(receiver.taken().len(), 1, "the event's other consumers have run");
    house.execute("alter table solopm.notifications rename column elsewhere to headline").await;
    house
        .execute(
            "insert into system.job_live (id, job_type, payload_version, payload, metadata, max_attempts, priority)
             values (gen_random_uuid(), 'notifications.send_email', 1, '{\"notification\": \"none\"}', '{}', 8, 0)",
        )
        .await;
    ann.put(&format!("{issue}/status"), json!({ "status": "doing" })).await;
    house.drain().await;
    assert_eq!(
        house.told().await.last().unwrap(),
        "bob: You belong to House now, as member",
        "the status is ann's own news"
    );
    let sent = house.jobs().await.of("search.search_sync");
    assert_eq!(sent.live(), 0, "later events are done");
    let dead = root.get("/api/admin/dead").await;
    let kinds: Vec<_> =
        dead.as_array().unwrap().iter().map(|one| (one["kind"].clone(), one["reason"].clone())).collect();
    assert!(kinds.contains(&(json!("notifications.send_email"), json!("quarantined"))), "{dead}");
    let rule = dead.as_array().unwrap().iter().find(|one| one["kind"] == RULE).expect("the dead consumer is listed");
    assert_eq!((&rule["attempts"], &rule["reason"]), (&json!(8), &json!("exhausted")));
    root.post(&format!("/api/admin/dead/{}/redrive", rule["id"].as_str().unwrap()), json!({})).await;
    house.drain().await;
    let told = house.told().await;
    assert_eq!(
        told.iter().filter(|line| *line == "bob: #1 The door sticks (House) is yours now").count(),
        1,
        "{told:?}"
    );
    assert_eq!(receiver.taken().len(), 1, "and nobody else hears of it again");
}

/// S1-12: PostgreSQL is the only queue: nothing here speaks to another.
#[test]
fn there_is_no_other_queue() {
    let manifest = include_str!("../../Cargo.toml");
    for other in ["redis", "fred", "lapin", "amqp", "nats", "kafka", "sqs", "pulsar", "deadpool", "apalis"] {
        assert!(!manifest.contains(other), "{other}");
    }
}
