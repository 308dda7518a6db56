//! What fits becomes an event under its own id, with its context and its jobs; acknowledged behind the commit.

use std::sync::{Arc, Mutex};

use outbox::{Metadata, Outbox};
use outbox_testing::Logs;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::fake::{Fake, Sent};
use crate::floor::{Floor, PolicyCreated, Running, new_id, policies, policy};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The event is the one that was published: id, time, version, subject, context, payload; what is added is where it came from. Its jobs run.
#[tokio::test]
async fn an_event_keeps_its_id_and_its_context() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book", "billing.note"]).await;
    let (id, cause) = (new_id(), new_id());
    let message = Sent::event(&id.to_string(), "policy.created.v1", r#"{"number":"p1"}"#)
        .with("subject", "p1")
        .with("time", "2020-02-29T23:59:59.123456Z")
        .with("correlationid", "request 7")
        .with("causationid", cause.to_string())
        .with("actor", "ann")
        .with("tenant", "acme")
        .with("headers", r#"{"via":"web"}"#)
        .header("traceparent", TRACE);
    floor.take(&outbox, &[message]).await;
    let text = "select (occurred_at at time zone 'UTC')::text, event_type, event_version, subject_type, subject_id, payload::text, metadata::text
                from :schema.event where id = $1";
    let text = text.replace(":schema.event", &floor.sandbox.table("event"));
    let row = sqlx::query(AssertSqlSafe(text)).bind(id.as_uuid()).fetch_one(floor.sandbox.pool()).await.unwrap();
    let column = |place: usize| row.get::<String, _>(place);
    assert_eq!(column(0), "2020-02-29 23:59:59.123456");
    assert_eq!((column(1).as_str(), row.get::<i32, _>(2)), ("policy.created", 1));
    assert_eq!((column(3).as_str(), column(4).as_str()), ("policy", "p1"));
    assert_eq!(column(5), r#"{"number": "p1"}"#);
    let mut expected = Metadata::new().actor("ann").tenant("acme").correlation("request 7").header("via", "web");
    expected.causation = Some(cause);
    expected.traceparent = Some(TRACE.to_owned());
    expected.origin = Some("fake".to_owned());
    assert_eq!(Metadata::from_json(&column(6)), expected);
    outbox.drain().await.unwrap();
    let jobs = floor.jobs().await;
    assert_eq!((jobs.len(), jobs.succeeded()), (2, 2));
    assert!(jobs.0.iter().all(|job| job.event_id == Some(id)));
    assert_eq!(floor.effects("book", "p1").await, 1);
}

/// S2-65: what is logged of the message, and of each job that it has here, has the trace and the correlation of the request that set it in
/// motion, where it was published.
#[tokio::test]
async fn the_trace_of_the_producer_goes_on() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let message = policy("p1").with("correlationid", "request 7").header("traceparent", TRACE);
    let logs = Logs::everything();
    floor.take(&outbox, std::slice::from_ref(&message)).await;
    outbox.drain().await.unwrap();
    let lines = logs.lines();
    let tells = |words: &[&str]| lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
    let trace = format!("traceparent={TRACE:?}");
    assert!(tells(&["source=\"fake\""]) && tells(&[&trace]), "{lines:#?}");
    assert!(tells(&["handler=\"billing.book\""]));
    // Once by the ingest's span, once by the execution's.
    assert!(lines.iter().filter(|line| line.contains(&trace)).count() >= 2, "{lines:#?}");
    assert!(lines.iter().filter(|line| line.contains("correlation=\"request 7\"")).count() >= 2, "{lines:#?}");
}

/// Whatever handlers publish in turn is of this service: it has no origin, and a relay sends it.
#[tokio::test]
async fn what_follows_is_of_this_service() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let id = new_id();
    let message = Sent::event(&id.to_string(), "policy.created.v1", r#"{"number":"p1"}"#);
    floor.take(&outbox, &[message]).await;
    let origin = "select count(*) from :schema.event where metadata->>'origin' = 'fake'";
    assert_eq!(floor.sandbox.number(origin).await, 1);
    let mut envelope = outbox::Envelope {
        id,
        name: "policy.created".to_owned(),
        version: 1,
        occurred_at: std::time::SystemTime::UNIX_EPOCH.into(),
        subject: outbox::Subject::default(),
        metadata: Metadata::new(),
        payload: outbox::Payload::from_json("{}"),
    };
    envelope.metadata.origin = Some("fake".to_owned());
    assert_eq!(envelope.follow_up().origin, None);
    // Published here, an event has none.
    let mut tx = outbox.begin().await.unwrap();
    let event = PolicyCreated { number: "p2".to_owned(), currency: "EUR".to_owned() };
    outbox.publish(&mut tx, &event).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(floor.sandbox.number(origin).await, 1);
}

/// S2-30: at the moment of each acknowledgement, another session sees the event and its job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_has_committed() {
    let mut floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let options = (*floor.sandbox.pool().connect_options()).clone();
    let text = format!(
        "select (select count(*) from \"{0}\".event where id = $1) + (select count(*) from \"{0}\".job_live where event_id = $1)",
        floor.sandbox.schema()
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    floor.fake = Fake::new().seen_by(move |message| {
        let id: outbox::EventId = message.id().parse().unwrap();
        let (options, text) = (options.clone(), text.clone());
        let seen = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async move {
                let mut other = PgConnection::connect_with(&options).await.unwrap();
                let query = sqlx::query_scalar::<_, i64>(AssertSqlSafe(text)).bind(id.as_uuid());
                query.fetch_one(&mut other).await.unwrap()
            })
        });
        noted.lock().unwrap().push(seen);
    });
    floor.take(&outbox, &policies(5)).await;
    assert_eq!(*seen.lock().unwrap(), [2; 5]);
}

/// S2-2: the effect is had once, although the broker delivers the message again and again: in one batch, behind it, behind the effect, and
/// by a producer that sends it anew. No window of time and no memory of a broker or a process plays a part.
#[tokio::test]
async fn a_message_that_comes_again_has_no_second_effect() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book", "billing.note"]).await;
    let message = policy("p1");
    let again = message.clone();
    let first = floor.take(&outbox, &[message.clone(), again.clone(), policy("p2")]).await.status();
    assert_eq!((first.received, first.stored, first.duplicates), (3, 2, 1));
    floor.take(&outbox, std::slice::from_ref(&again)).await;
    outbox.drain().await.unwrap();
    // Another process, which has never seen it.
    let other = floor.outbox(&["billing.book", "billing.note"]).await;
    let status = floor.take(&other, &[again]).await.status();
    other.drain().await.unwrap();
    assert_eq!((status.stored, status.duplicates, status.quarantined), (0, 1, 0));
    assert_eq!((floor.events().await, floor.jobs().await.len()), (2, 4));
    assert_eq!((floor.effects("book", "p1").await, floor.effects("book", "p2").await), (1, 1));
}

/// S2-26: and what keeps it from having a second one outlives the event: the mark of the handler, in the same tables as the effect.
#[tokio::test]
async fn a_message_that_comes_again_when_its_event_is_gone_has_no_second_effect() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let message = policy("p1");
    floor.take(&outbox, std::slice::from_ref(&message)).await;
    outbox.drain().await.unwrap();
    // As retention does, when the week is over.
    floor.sandbox.execute("set session_replication_role = replica; delete from :schema.event; delete from :schema.job; set session_replication_role = default").await;
    assert_eq!((floor.events().await, floor.jobs().await.len()), (0, 0));
    let status = floor.take(&outbox, &[message]).await.status();
    assert_eq!(status.stored, 1, "it is new here once more");
    outbox.drain().await.unwrap();
    let jobs = floor.jobs().await;
    assert_eq!((jobs.only().status.as_str(), jobs.only().reason.as_deref()), ("succeeded", Some("duplicate")));
    assert_eq!(floor.effects("book", "p1").await, 1);
}

/// The broker could not be told: the messages come again, and are known.
#[tokio::test]
async fn an_acknowledgement_that_is_lost_is_given_again() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.fake.lose_acknowledgements(true);
    let ingest = floor.ingest();
    floor.fake.send_all(&policies(3));
    let running = Running::start(&ingest, &outbox);
    outbox_testing::eventually("they have come again", async || (ingest.status().duplicates >= 3).then_some(())).await;
    floor.fake.lose_acknowledgements(false);
    floor.fake.send(&policy("last"));
    floor.fake.until_acknowledged(4).await;
    running.stop().await;
    let status = ingest.status();
    assert!(status.unacknowledged >= 3 && status.stored == 4, "{status:?}");
    assert_eq!(floor.jobs().await.len(), 4);
}

/// Events whose ids are those of a former year, or none of ULIDs at all, are as good as others.
#[tokio::test]
async fn ids_of_any_age_are_taken() {
    let floor = Floor::new().await;
    let outbox: Outbox = floor.outbox(&["billing.book"]).await;
    let ids = ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "c0ffee00-1234-4abc-8def-0123456789ab"];
    let messages = ids.map(|id| Sent::event(id, "policy.created.v1", r#"{"number":"p1"}"#));
    floor.take(&outbox, &messages).await;
    outbox.drain().await.unwrap();
    assert_eq!((floor.events().await, floor.jobs().await.succeeded()), (3, 3));
}
