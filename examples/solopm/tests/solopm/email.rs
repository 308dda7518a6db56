//! Mail, by a conversation with a mail server.

use serde_json::json;
use solopm::mail::Mood;
use solopm::users::EmailMode;

use crate::house::{House, Person};

/// ann, whose project it is, and somebody with an issue's news ahead of them.
async fn with_news(house: &House, mode: EmailMode) -> (Person, Person, String) {
    let (ann, bob) = (house.person("ann").await, house.person_with("bob", mode, false).await);
    let project = ann.project("House", &[&bob]).await;
    house.drain().await;
    house.execute("update solopm.notifications set mailed_at = now() where mailed_at is null").await;
    house.post.forget();
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    (ann, bob, issue)
}

const DUE: &str = "update system.job_live set available_at = now()";

/// S1-38: who wants one mail a night gets none at once; the nightly job collects everything of theirs in one.
#[tokio::test]
async fn a_digest_collects_what_waits_for_the_night() {
    let house = House::open().await;
    let (ann, _, issue) = with_news(&house, EmailMode::DailyDigest).await;
    ann.put(&format!("{issue}/status"), json!({ "status": "done" })).await;
    house.drain().await;
    assert_eq!(house.mails(), []);
    house.outbox.schedules().run_now("notifications.daily_digest").await.unwrap();
    house.drain().await;
    assert_eq!(house.mails(), [("bob@example.com".to_owned(), "2 news".to_owned())]);
    let text = &house.post.received()[0].data;
    assert!(text.contains("- #1 The door sticks (House) is yours now"), "{text}");
    assert!(text.contains("- #1 The door sticks (House) is now: done"), "{text}");
    house.outbox.schedules().run_now("notifications.daily_digest").await.unwrap();
    house.drain().await;
    assert_eq!(house.mails().len(), 1, "the next night has nothing to tell");
}

/// S1-38: a digest that did not leave marks nothing: it is tried again; and when it has failed for good, the next night tells of everything.
#[tokio::test]
async fn a_digest_that_failed_is_told_the_next_night() {
    let house = House::open().await;
    with_news(&house, EmailMode::DailyDigest).await;
    house.drain().await;
    house.post.set_mood(Mood::Busy);
    house.outbox.schedules().run_now("notifications.daily_digest").await.unwrap();
    house.drain().await;
    let unmarked = "select count(*) from solopm.notifications where mailed_at is null and delivery = 'daily_digest'";
    assert_eq!(house.number(unmarked).await, 1, "marked before it was sent");
    let job = house.jobs().await.of("notifications.send_digest").only().clone();
    assert_eq!((job.status.as_str(), job.attempts), ("pending", 1), "it is tried again");
    for _ in 1..8 {
        house.execute(DUE).await;
        house.drain().await;
    }
    assert_eq!(house.jobs().await.of("notifications.send_digest").only().status, "failed");
    house.post.set_mood(Mood::Willing);
    house.outbox.schedules().run_now("notifications.daily_digest").await.unwrap();
    house.drain().await;
    assert_eq!(house.mails(), [("bob@example.com".to_owned(), "1 news".to_owned())]);
    assert_eq!(house.number(unmarked).await, 0);
}

/// S1-52, S1-53, S1-51: a mail server that is busy is asked again behind 60 s, 120 s, .. with the error written down, eight times in all; then
/// the job is dead.
#[tokio::test]
async fn a_busy_mail_server_is_asked_eight_times() {
    let house = House::open().await;
    with_news(&house, EmailMode::Instant).await;
    house.post.set_mood(Mood::Busy);
    let mut delays = Vec::new();
    for attempt in 1..=8_u32 {
        house.drain().await;
        let job = house.jobs().await.of("notifications.send_email").0.into_iter().find(|job| job.status != "succeeded");
        let job = job.expect("bob's mail");
        assert_eq!(job.attempts, attempt);
        assert!(job.last_error.as_deref().is_some_and(|error| error.contains("451")), "{:?}", job.last_error);
        if attempt < 8 {
            let delay = "select extract(epoch from available_at - now())::bigint from system.job_live
                         where job_type = 'notifications.send_email'";
            delays.push(house.number(delay).await);
            house.execute(DUE).await;
        } else {
            assert_eq!((job.status.as_str(), job.reason.as_deref()), ("failed", Some("exhausted")));
        }
    }
    for (delay, least) in delays.iter().zip([60, 120, 240, 480, 960, 1920, 3600]) {
        assert!((least * 9 / 10..=least * 6 / 5).contains(delay), "{delays:?}");
    }
    assert_eq!(house.mails(), []);
}

/// An address that the server refuses for good is not tried again; the job waits for a person.
#[tokio::test]
async fn a_refused_address_is_not_tried_again() {
    let house = House::open().await;
    with_news(&house, EmailMode::Instant).await;
    house.post.set_mood(Mood::Unwilling);
    house.drain().await;
    let failed = house.outbox.failed(10).await.unwrap();
    assert_eq!((failed.len(), failed[0].reason.as_str(), failed[0].attempts), (1, "quarantined", 1));
}

/// S1-60: a request is answered while the mail server says nothing at all: mail never keeps one waiting.
#[tokio::test]
async fn no_request_waits_for_mail() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let house = House::working_with_mail_at(silent.local_addr().unwrap().to_string()).await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    let (_held, _) = silent.accept().await.unwrap();
    // The job of bob's welcome now hangs at the silent server; requests that cause more mail are answered all the same.
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    ann.put(&format!("{issue}/status"), json!({ "status": "doing" })).await;
    let hanging =
        "select count(*) from system.job_live where job_type = 'notifications.send_email' and status = 'running'";
    assert!(house.number(hanging).await >= 1, "the mail still hangs");
}

/// A mail that is sent again, because its mark was lost, has the same `Message-ID`.
#[tokio::test]
async fn a_repeated_mail_has_the_same_id() {
    let house = House::open().await;
    with_news(&house, EmailMode::Instant).await;
    house
        .execute(
            "create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
             create trigger refuse before update on solopm.notifications for each row execute function refuse()",
        )
        .await;
    house.drain().await;
    house.execute(&format!("drop trigger refuse on solopm.notifications; {DUE}")).await;
    house.drain().await;
    let mails = house.post.received();
    let ids: Vec<_> = mails.iter().map(|mail| mail.header("Message-ID").unwrap()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
}
