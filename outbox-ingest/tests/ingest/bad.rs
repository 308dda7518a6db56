//! Messages that are no events here: each to quarantine with its reason, and nobody else kept up.

use outbox::ingest::QuarantineClass;
use outbox_testing::Logs;

use crate::fake::Sent;
use crate::floor::{Floor, new_id, policies, policy};

const SECRET: &str = "4111-1111";

fn event(wire_name: &str, body: &str) -> Sent {
    Sent::event(&new_id().to_string(), wire_name, body)
}

fn kinds() -> Vec<(QuarantineClass, Sent)> {
    use QuarantineClass::{NotAnId, Undecodable, UnknownType, UnsupportedVersion, WrongPayload};
    let secret = format!(r#"{{"card":"{SECRET}"}}"#);
    let binary = Sent { body: vec![0xff, 0xfe, 0x00], ..policy("p") };
    vec![
        (Undecodable, policy("p").with("subject", [0xff, 0xfe])),
        (Undecodable, policy("p").with("tenant", "a\0b")),
        (Undecodable, policy("p").without("type")),
        (Undecodable, policy("p").with("time", SECRET.replace('4', "x"))),
        (Undecodable, policy("p").with("headers", r#"{"a":"\u0000"}"#)),
        (Undecodable, binary),
        (Undecodable, event("policy.created.v1", &secret[..12])),
        (NotAnId, policy("p").with("id", "12345")),
        (NotAnId, policy("p").without("id")),
        (UnknownType, event("parcel.sent.v1", &secret)),
        (UnknownType, event("com.github.push", &secret)),
        (UnsupportedVersion, event("policy.created.v3", &secret)),
        (WrongPayload, event("policy.created.v1", &secret)),
        (WrongPayload, event("policy.created.v2", r#"{"number":"p"}"#)),
        // It is a policy of the first version, and becomes none of the second.
        (WrongPayload, event("policy.created.v1", r#"{"number":""}"#)),
        (WrongPayload, event("policy.created.v1", r#"{"number":"a\u0000b"}"#)),
        (WrongPayload, event("policy.created.v1", &format!(r#"{{"number":"{}"}}"#, "x".repeat(2 << 20)))),
    ]
}

/// S2-32, S2-70: of each kind one, between good ones in one batch: the good ones are events, each bad one is a row with its class and what is
/// known of it, all are acknowledged, and none comes again. Nothing that is kept to be looked at, and no line of the log, quotes a payload.
#[tokio::test]
async fn each_bad_message_is_quarantined_and_stops_nobody() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book", "billing.note"]).await;
    let (kinds, good) = (kinds(), policies(5));
    let mut messages = good.clone();
    for (place, (_, bad)) in kinds.iter().enumerate() {
        messages.insert((place * 2).min(messages.len()), bad.clone());
    }
    let logs = Logs::everything();
    let status = floor.take(&outbox, &messages).await.status();
    let lines = logs.lines();
    assert_eq!((status.stored, status.quarantined, status.given_back), (5, kinds.len() as u64, 0));
    assert_eq!((floor.events().await, floor.jobs().await.len(), floor.fake.in_hand()), (5, 10, 0));
    let rows = floor.quarantined(&outbox).await;
    assert_eq!(rows.len(), kinds.len());
    for (class, bad) in &kinds {
        let fits = |row: &&outbox::ingest::Quarantined| {
            row.class == class.as_str() && row.event_id == bad.id().parse().ok() && row.source == "fake"
        };
        assert!(rows.iter().any(|row| fits(&row)), "{class}: {bad:?} in {rows:#?}");
    }
    for row in &rows {
        assert!(!row.reason.contains(SECRET) && !row.reason.is_empty(), "{row:?}");
    }
    let newer = rows.iter().find(|row| row.class == "unsupported_version").unwrap();
    assert_eq!((newer.event_type.as_deref(), newer.event_version), (Some("policy.created"), Some(3)));
    assert!(newer.reason.contains("known here (1, 2): a newer producer"), "{}", newer.reason);
    let told = lines.iter().filter(|line| line.starts_with("WARN a message went to quarantine")).count();
    assert_eq!(told, kinds.len());
    assert!(!lines.iter().any(|line| line.contains(SECRET)), "{lines:#?}");
}

/// O11: a type with no handler here leaves a row, a line of its own and a number; so does one that only a relay or a log of everything
/// receives, unless the ingest is to take everything.
#[tokio::test]
async fn a_type_that_nobody_knows_is_seen() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book", "log.keep"]).await;
    let logs = Logs::warnings();
    let status = floor.take(&outbox, &[event("parcel.sent.v1", "{}")]).await.status();
    assert_eq!((status.quarantined, floor.events().await), (1, 0));
    let rows = floor.quarantined(&outbox).await;
    assert_eq!(rows[0].reason, "nobody here declares or receives `parcel.sent`");
    let lines = logs.lines();
    assert!(lines.iter().any(|line| line.contains("class=\"unknown_type\"")), "{lines:#?}");
    // All of it, by its own word.
    let everything = floor.ingest_with(|builder| builder.everything(true));
    floor.fake.send(&event("parcel.sent.v7", "{}"));
    let running = crate::floor::Running::start(&everything, &outbox);
    floor.fake.until_acknowledged(2).await;
    running.stop().await;
    let jobs = floor.jobs().await;
    assert_eq!((floor.events().await, jobs.only().handler.as_str()), (1, "log.keep"));
}

/// The same message, however often it comes and in whatever batch, is one row, which counts.
#[tokio::test]
async fn a_bad_message_that_comes_again_is_the_same_row() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let bad = event("parcel.sent.v1", "{}");
    let other = Sent { body: b"{} ".to_vec(), ..bad.clone() };
    floor.take(&outbox, &[bad.clone(), bad.clone().header("traceparent", "00-1"), other]).await;
    floor.take(&outbox, &[bad]).await;
    let mut times: Vec<_> = floor.quarantined(&outbox).await.iter().map(|row| row.times).collect();
    times.sort_unstable();
    assert_eq!(times, [1, 3]);
}

/// What only the database refuses is found, and everything else of its batch is stored.
#[tokio::test]
async fn what_the_database_refuses_is_quarantined_by_itself() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.sandbox.execute("alter table :schema.event add check (subject_id <> 'refused')").await;
    let mut messages = policies(9);
    messages.insert(4, policy("refused"));
    messages.push(event("parcel.sent.v1", "{}"));
    let status = floor.take(&outbox, &messages).await.status();
    assert_eq!((status.stored, status.quarantined, floor.events().await), (9, 2, 9));
    let rows = floor.quarantined(&outbox).await;
    let refused = rows.iter().find(|row| row.class == "wrong_payload").unwrap();
    assert_eq!(refused.reason, "the database refuses it, SQLSTATE 23514");
}

/// An id that is another event's is no id of this one, and is not taken for a duplicate, which would lose it.
#[tokio::test]
async fn an_id_that_is_another_events_is_none() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let first = policy("p1");
    let other = Sent::event(&first.id(), "policy.viewed.v1", r#"{"number":"p1"}"#);
    floor.take(&outbox, &[first]).await;
    floor.take(&outbox, &[other]).await;
    let rows = floor.quarantined(&outbox).await;
    assert_eq!((rows.len(), rows[0].class.as_str()), (1, "not_an_id"));
    assert_eq!(rows[0].reason, "its id is already that of another event, of type `policy.created`");
}

/// The same in one batch, whichever comes first; and each is judged for itself: one that nobody here knows takes no id from another.
#[tokio::test]
async fn an_id_that_is_another_events_of_the_same_batch_is_none() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book", "audit.keep"]).await;
    let (first, second, third) = (policy("p1"), policy("p2"), policy("p3"));
    let viewed = |of: &Sent| Sent::event(&of.id(), "policy.viewed.v1", r#"{"number":"p1"}"#);
    let filed = Sent::event(&third.id(), "claim.filed.v1", r#"{"number":"p3"}"#);
    let unknown = Sent::event(&second.id(), "parcel.sent.v1", "{}");
    let (of_first, of_third) = (viewed(&first), viewed(&third));
    let messages = [first, of_first.clone(), of_first, unknown, second, third, of_third, filed];
    let status = floor.take(&outbox, &messages).await.status();
    assert_eq!((status.stored, status.duplicates, status.quarantined), (3, 0, 5));
    let mut rows: Vec<_> = floor.quarantined(&outbox).await;
    rows.sort_unstable_by_key(|row| (row.event_type.clone(), std::cmp::Reverse(row.times)));
    let told: Vec<_> =
        rows.iter().map(|row| (row.event_type.as_deref().unwrap_or_default(), row.class.as_str(), row.times)).collect();
    let not_an_id = |name, times| (name, "not_an_id", times);
    let unknown = ("parcel.sent", "unknown_type", 1);
    assert_eq!(
        told,
        [not_an_id("claim.filed", 1), unknown, not_an_id("policy.viewed", 2), not_an_id("policy.viewed", 1)]
    );
    assert_eq!((floor.events().await, floor.effects("audit", "p3").await), (3, 0));
}

/// The same when another process stores the other event at this moment: it is waited for, and seen although it committed meanwhile.
#[tokio::test]
async fn an_id_that_becomes_another_events_meanwhile_is_none() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let message = policy("p1");
    let mut other = floor.sandbox.pool().begin().await.unwrap();
    let text = format!(
        "insert into {} (id, occurred_at, event_version, event_type, subject_type, payload, metadata)
         values ($1, now(), 1, 'policy.viewed', 'policy', '{{}}', '{{}}') returning pg_backend_pid()",
        floor.sandbox.table("event")
    );
    let id: outbox::EventId = message.id().parse().unwrap();
    let pid: i32 =
        sqlx::query_scalar(sqlx::AssertSqlSafe(text)).bind(id.as_uuid()).fetch_one(&mut *other).await.unwrap();
    let waits = format!("select count(*) from pg_stat_activity where {pid} = any(pg_blocking_pids(pid))");
    let commit = async {
        let waiting = async || (floor.sandbox.number(&waits).await > 0).then_some(());
        outbox_testing::eventually("the ingest waits for it", waiting).await;
        other.commit().await.unwrap();
    };
    let messages = [message];
    let (ingest, ()) = tokio::join!(floor.take(&outbox, &messages), commit);
    let status = ingest.status();
    assert_eq!((status.stored, status.duplicates, status.quarantined), (0, 0, 1));
    assert_eq!(floor.quarantined(&outbox).await[0].class, "not_an_id");
}
