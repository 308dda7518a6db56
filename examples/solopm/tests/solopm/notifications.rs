//! Who is told what, once.

use outbox::Metadata;
use serde_json::json;
use solopm::events::IssueAssigned;
use solopm::users::EmailMode;

use crate::house::{House, Person};

/// A project of ann's with bob and cem in it, from which nobody has news yet.
async fn three(house: &House) -> (Person, Person, Person, String) {
    let (ann, bob, cem) = (house.person("ann").await, house.person("bob").await, house.person("cem").await);
    let project = ann.project("House", &[&bob, &cem]).await;
    house.drain().await;
    house.execute("delete from solopm.notifications").await;
    (ann, bob, cem, project)
}

/// S1-34, S1-35: each rule tells those whom it names and nobody else, and never the one who did it.
#[tokio::test]
async fn each_rule_tells_those_whom_it_names() {
    let house = House::open().await;
    let (ann, bob, cem, project) = three(&house).await;
    let issue = bob.issue(&project, "The door sticks").await;
    let news = async || {
        house.drain().await;
        let told = house.told().await;
        house.execute("delete from solopm.notifications").await;
        told
    };
    assert_eq!(news().await, Vec::<String>::new(), "an issue that mentions nobody is news for nobody");
    ann.put(&format!("{issue}/assignee"), json!({ "user": cem.id })).await;
    assert_eq!(news().await, ["cem: #1 The door sticks (House) is yours now"]);
    cem.put(&format!("{issue}/status"), json!({ "status": "doing" })).await;
    assert_eq!(news().await, ["bob: #1 The door sticks (House) is now: doing"], "not cem, who did it");
    ann.post(&format!("{issue}/comments"), json!({ "body": "@ann @bob, plane it" })).await;
    assert_eq!(
        news().await,
        ["bob: New comment on #1 The door sticks (House)", "cem: New comment on #1 The door sticks (House)"],
        "once for bob, who reported it and is mentioned"
    );
    ann.delete(&format!("{issue}/assignee")).await;
    assert_eq!(news().await, ["cem: #1 The door sticks (House) is not yours any more"]);
    ann.put(&format!("{project}/members/{}", cem.id), json!({ "role": "viewer" })).await;
    assert_eq!(news().await, ["cem: In House you are viewer now"]);
    ann.delete(&format!("{project}/members/{}", cem.id)).await;
    assert_eq!(news().await, ["cem: You do not belong to House any more"]);
    ann.put(&format!("{project}/owner"), json!({ "user": bob.id })).await;
    assert_eq!(news().await, ["bob: House has another owner"]);
    bob.delete(&project).await;
    assert_eq!(news().await, ["ann: House is gone"], "as of the event: bob, who did it, and ann were members");
}

/// S1-34: whom it concerns is as of the event, whether they may hear of it is as of now: a later assignee is not told of an older change,
/// and who has left meanwhile hears nothing of what is inside.
#[tokio::test]
async fn an_old_event_concerns_those_of_its_time_who_still_belong_to_it() {
    let house = House::open().await;
    let (ann, bob, cem, project) = three(&house).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    house.drain().await;
    house.execute("delete from solopm.notifications").await;
    ann.put(&format!("{issue}/status"), json!({ "status": "doing" })).await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": cem.id })).await;
    house.drain().await;
    let told = house.told().await;
    assert_eq!(told, ["bob: #1 The door sticks (House) is now: doing", "cem: #1 The door sticks (House) is yours now"]);
    house.execute("delete from solopm.notifications").await;
    ann.put(&format!("{issue}/status"), json!({ "status": "done" })).await;
    ann.delete(&format!("{project}/members/{}", cem.id)).await;
    house.drain().await;
    assert_eq!(house.told().await, ["cem: You do not belong to House any more"], "not of the status");
}

/// S1-35: where a service acts, or nobody is known, nobody is left out; not even a user whose id the service's name resembles.
#[tokio::test]
async fn a_service_is_no_user() {
    let house = House::open().await;
    let (ann, bob, _, project) = three(&house).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    house.drain().await;
    house.execute("delete from solopm.notifications").await;
    let payload = house.texts("select payload::text from system.event where event_type = 'issue.assigned'").await;
    for actor in [None, Some(format!("webhook:{}", bob.id))] {
        let context = Metadata { actor, ..Metadata::new().tenant(project.rsplit('/').next().unwrap()) };
        let event: IssueAssigned = serde_json::from_str(&payload[0]).unwrap();
        let mut tx = house.outbox.begin().await.unwrap();
        house.outbox.scope_with(context, async { house.outbox.publish(&mut tx, &event).await }).await.unwrap();
        tx.commit().await.unwrap();
    }
    house.drain().await;
    assert_eq!(house.told().await, ["bob: #1 The door sticks (House) is yours now"; 2]);
}

/// S1-6: what a notification says is as it was at the event, although the issue has another title and its project is gone before anybody
/// looks at it.
#[tokio::test]
async fn a_headline_is_as_it_was_at_the_event() {
    let house = House::open().await;
    let (ann, bob, _, project) = three(&house).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    ann.put(&issue, json!({ "title": "Something else", "description": "" })).await;
    ann.put(&project, json!({ "title": "A castle" })).await;
    house.drain().await;
    assert_eq!(house.told().await, ["bob: #1 The door sticks (House) is yours now"]);
    ann.delete(&project).await;
    house.drain().await;
    let told = house.told().await;
    assert_eq!(
        told,
        ["bob: #1 The door sticks (House) is yours now", "bob: A castle is gone", "cem: A castle is gone"]
    );
}

/// S1-36, S1-37, S1-33: an event that is looked at again, by the same handler under another job, adds neither a row nor a mail, by the
/// table's own unique key; and the row and the job of its mail are one transaction.
#[tokio::test]
async fn an_event_looked_at_again_tells_nobody_again() {
    let house = House::open().await;
    let (ann, bob, _, project) = three(&house).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    house.drain().await;
    let mails = house.mails().len();
    let again = "insert into system.job_live (id, event_id, job_type, payload_version, max_attempts, priority)
                 select gen_random_uuid(), event_id, job_type, payload_version, max_attempts, priority
                 from system.job_succeeded where job_type = 'notifications.issue_assigned';
                 delete from system.inbox";
    house.execute(again).await;
    house.drain().await;
    let jobs = house.jobs().await.of("notifications.issue_assigned");
    assert_eq!((jobs.len(), jobs.succeeded()), (2, 2), "it ran again");
    assert_eq!(house.told().await, ["bob: #1 The door sticks (House) is yours now"]);
    assert_eq!(house.mails().len(), mails, "and no second mail");
    let twice = sqlx::query(
        "insert into solopm.notifications (user_id, kind, resource_type, resource_id, event_id, headline, delivery)
         select user_id, kind, resource_type, resource_id, event_id, '', 'none' from solopm.notifications",
    );
    assert!(twice.execute(house.pool()).await.unwrap_err().as_database_error().unwrap().is_unique_violation());
}

/// S1-33, S1-37: the row and the job of its mail are one: where the job cannot be written, the row is not either, and both are there when it
/// is tried again. One job for each who wants a mail at once, none for the others.
#[tokio::test]
async fn a_row_and_the_job_of_its_mail_are_one_transaction() {
    let house = House::open().await;
    let (ann, bob, _, project) = three(&house).await;
    let dee = house.person_with("dee", EmailMode::DailyDigest, false).await;
    let eli = house.person_with("eli", EmailMode::None, false).await;
    for member in [&dee, &eli] {
        ann.post(&format!("{project}/members/{}", member.id), json!({ "role": "member" })).await;
    }
    house.drain().await;
    house.execute("delete from solopm.notifications").await;
    let before = house.jobs().await.of("notifications.send_email").len();
    house
        .execute(
            "create function refuse() returns trigger language plpgsql as $$ begin raise 'no mail today'; end $$;
             create trigger refuse before insert on system.job_live for each row
             when (new.job_type = 'notifications.send_email') execute function refuse()",
        )
        .await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.post(&format!("{issue}/comments"), json!({ "body": "@bob @dee @eli" })).await;
    house.drain().await;
    assert_eq!(house.told().await, Vec::<String>::new(), "no row without its job");
    house.execute("drop trigger refuse on system.job_live; update system.job_live set available_at = now()").await;
    house.drain().await;
    assert_eq!(house.told().await.len(), 3);
    let jobs = house.jobs().await.of("notifications.send_email");
    assert_eq!(jobs.len() - before, 1, "bob's");
    let newest = house.mails().pop().unwrap();
    assert_eq!(newest, (format!("{}@example.com", "bob"), "New comment on #1 The door sticks (House)".to_owned()));
    assert_eq!(bob.get("/api/notifications").await["unread"], 1);
}

/// The badge counts what is unread, and nothing that came behind what was seen is marked as read.
#[tokio::test]
async fn the_badge_counts_what_is_unread() {
    let house = House::open().await;
    let (ann, bob, _, project) = three(&house).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    house.drain().await;
    let seen = bob.get("/api/notifications").await;
    assert_eq!(seen["unread"], 1);
    ann.put(&format!("{issue}/status"), json!({ "status": "done" })).await;
    house.drain().await;
    bob.post("/api/notifications/read", json!({ "up_to": seen["newest"][0]["id"] })).await;
    let seen = bob.get("/api/notifications").await;
    assert_eq!((&seen["unread"], &seen["newest"][0]["kind"]), (&json!(1), &json!("issue.status_changed")));
}
