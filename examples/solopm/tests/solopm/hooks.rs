//! Webhooks that come in.

use std::time::{SystemTime, UNIX_EPOCH};

use outbox_webhooks::{ID, SIGNATURE, Secret, TIMESTAMP, sign};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::house::{House, Person};
use crate::receiver::Receiver;

/// Another service, which has an address in the house and the secret of it.
struct Service {
    url: String,
    secret: Secret,
}

impl Service {
    async fn new(owner: &Person, project: &str) -> Self {
        let hook = owner.post(&format!("{project}/hooks"), json!({ "source": "git" })).await;
        let url = format!("http://{}{}", owner.server(), hook["path"].as_str().unwrap());
        Self { url, secret: hook["secret"].as_str().unwrap().parse().unwrap() }
    }

    async fn tell(&self, id: &str, body: &Value) -> StatusCode {
        let body = body.to_string();
        self.send(id, &body, &body).await
    }

    /// Signs one text and sends another.
    async fn send(&self, id: &str, signed: &str, sent: &str) -> StatusCode {
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
        let request = Client::new()
            .post(&self.url)
            .header(ID, id)
            .header(TIMESTAMP, now.to_string())
            .header(SIGNATURE, sign([&self.secret], id, now, signed.as_bytes()))
            .body(sent.to_owned());
        request.send().await.expect("the server answers").status()
    }
}

/// A project of ann's, and a service that tells of it.
async fn told(house: &House) -> (Person, String, Service) {
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let service = Service::new(&ann, &project).await;
    house.drain().await;
    (ann, project, service)
}

const LIFE: &str =
    "select action_type || ' ' || resource_id || ' ' || actor || ' ' || via_webhook from solopm.audit_log
                    where resource_type = 'webhook' order by occurred_at";

/// S1-20: a message that is signed is received, and what it asks for is done: its life is two events, which name the service.
#[tokio::test]
async fn a_message_is_received_and_processed() {
    let house = House::open().await;
    let (ann, project, service) = told(&house).await;
    assert_eq!(
        service.tell("m1", &json!({ "action": "create_issue", "title": "It rains in" })).await,
        StatusCode::ACCEPTED
    );
    assert_eq!(house.texts(LIFE).await, ["webhook.received m1 webhook:git true"], "kept, and not yet done");
    house.drain().await;
    assert_eq!(
        house.texts(LIFE).await,
        ["webhook.received m1 webhook:git true", "webhook.processed m1 webhook:git true"]
    );
    assert_eq!(ann.get(&format!("{project}/issues")).await[0]["title"], "It rains in");
}

/// S1-20: what cannot be done is undone, and that it failed is written down all the same, with the reason; it is not tried again.
#[tokio::test]
async fn a_failed_message_keeps_its_record() {
    let house = House::open().await;
    let (ann, project, service) = told(&house).await;
    let half = json!({ "action": "create_issue", "title": "Half done", "comment": "" });
    service.tell("m1", &half).await;
    service.tell("m2", &json!({ "action": "set_status", "issue": 99, "status": "done" })).await;
    service.tell("m3", &json!({ "action": "dance" })).await;
    house.drain().await;
    let failed = "select resource_id || ': ' || (payload->>'reason') from solopm.audit_log
                  where action_type = 'webhook.failed' order by 1";
    assert_eq!(
        house.texts(failed).await,
        [
            "m1: this does not satisfy `comments_body_check`",
            "m2: there is no such issue",
            "m3: nothing that is known here is asked for"
        ]
    );
    assert_eq!(ann.get(&format!("{project}/issues")).await, json!([]), "nor is half of it there");
    assert_eq!(house.number("select count(*) from solopm.audit_log where action_type = 'issue.created'").await, 0);
    let jobs = house.jobs().await.of("hooks.process");
    assert_eq!((jobs.len(), jobs.succeeded()), (3, 3));
}

/// A message that comes again is known; one that is not signed with the secret, or not as it was signed, is turned away without a trace.
#[tokio::test]
async fn a_message_is_taken_once_and_only_when_signed() {
    let house = House::open().await;
    let (ann, project, service) = told(&house).await;
    let wish = json!({ "action": "create_issue", "title": "It rains in" });
    service.tell("m1", &wish).await;
    assert_eq!(service.tell("m1", &wish).await, StatusCode::ACCEPTED);
    let (signed, sent) = (wish.to_string(), json!({ "action": "create_issue", "title": "Mischief" }).to_string());
    assert_eq!(service.send("m2", &signed, &sent).await, StatusCode::UNAUTHORIZED);
    let impostor = Service { url: service.url.clone(), secret: Secret::generate() };
    assert_eq!(impostor.tell("m3", &wish).await, StatusCode::UNAUTHORIZED);
    house.drain().await;
    assert_eq!(ann.get(&format!("{project}/issues")).await.as_array().unwrap().len(), 1);
    assert_eq!(house.texts(LIFE).await.len(), 2);
}

/// S1-21: what a webhook has caused is marked as such, over every job in between: in the audit, in jobs, and to an endpoint that wants none of
/// it, so that two services that tell each other everything do not do so for ever.
#[tokio::test]
async fn what_a_webhook_causes_is_marked_and_makes_no_loop() {
    let house = House::open().await;
    let (ann, project, service) = told(&house).await;
    let (echo, other) = (Receiver::open().await, Receiver::open().await);
    for (receiver, skip) in [(&echo, true), (&other, false)] {
        let wish = json!({ "url": receiver.url, "skip_via_webhook": skip });
        receiver.believe(&ann.post(&format!("{project}/webhooks"), wish).await["secret"]);
    }
    service.tell("m1", &json!({ "action": "create_issue", "title": "It rains in", "description": "@ann" })).await;
    house.drain().await;
    let marked = "select distinct via_webhook::text from solopm.audit_log where project_id is not null and actor = 'webhook:git'";
    assert_eq!(house.texts(marked).await, ["true"]);
    let jobs = "select distinct metadata->'headers'->>'via_webhook' from system.job
                where job_type in ('search.search_sync', 'notifications.send_email') and metadata->>'actor' = 'webhook:git'";
    assert_eq!(house.texts(jobs).await, ["true"]);
    assert_eq!(house.told().await, ["ann: You are mentioned in #1 It rains in (House)"]);
    assert_eq!((echo.taken().len(), other.taken().len()), (0, 3), "received, created, processed");
    ann.issue(&project, "The door sticks").await;
    house.drain().await;
    assert_eq!(echo.taken().len(), 1, "what people do reaches it");
}
