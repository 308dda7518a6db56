//! The cull takes what has ended, and nothing that is referred to or pending.

use serde_json::json;
use solopm::mail::Mood;

use crate::house::House;

async fn cull(house: &House) {
    house.outbox.schedules().run_now("retention.cull").await.unwrap();
    house.drain().await;
    assert_eq!(house.jobs().await.of("retention.cull").failed(), 0);
}

/// S1-57: a content that an attachment names stays, however old; one that none names goes when it has been there for a day.
#[tokio::test]
async fn contents_go_when_no_attachment_names_them() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let issue = ann.issue(&project, "The door sticks").await;
    let path = format!("{issue}/attachments");
    ann.post(&format!("{path}/kept.txt"), json!("kept")).await;
    ann.post(&format!("{path}/twice.txt"), json!("kept")).await;
    let gone = ann.post(&format!("{path}/gone.txt"), json!("gone")).await;
    ann.delete(&format!("{path}/gone.txt/{gone}")).await;
    let blobs = "select count(*) from solopm.blobs";
    assert_eq!(house.number(blobs).await, 2, "one for each content");
    cull(&house).await;
    assert_eq!(house.number(blobs).await, 2, "too young");
    house.execute("update solopm.blobs set uploaded_at = now() - interval '2 days'").await;
    cull(&house).await;
    assert_eq!(house.texts("select convert_from(content, 'UTF8') from solopm.blobs").await, ["\"kept\""]);
}

/// S1-57: an upload that finds its content there, while the cull is about to take it, keeps it.
#[tokio::test]
async fn an_upload_under_way_keeps_its_content() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let issue = ann.issue(&project, "The door sticks").await;
    let path = format!("{issue}/attachments");
    let file = ann.post(&format!("{path}/a.txt"), json!("plan")).await;
    ann.delete(&format!("{path}/a.txt/{file}")).await;
    house.execute("update solopm.blobs set uploaded_at = now() - interval '2 days'").await;
    let mut upload = house.outbox.begin().await.unwrap();
    let found = solopm::projects::projects_of(house.pool(), ann.id).await.unwrap().remove(0);
    let uploading = solopm::issues::upload_attachment(&mut upload, &found, 1, "b.txt", b"\"plan\"");
    house.outbox.scope(uploading).await.unwrap();
    house.outbox.schedules().run_now("retention.cull").await.unwrap();
    let waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let then = async {
        house.until("the cull waits for the upload", waits, 1).await;
        upload.commit().await.unwrap();
    };
    let ((), drained) = tokio::join!(then, house.outbox.drain());
    drained.unwrap();
    assert_eq!(house.jobs().await.of("retention.cull").succeeded(), 1, "it did not even try");
    assert_eq!(house.number("select count(*) from solopm.blobs").await, 1);
    assert_eq!(house.number("select count(*) from solopm.attachments").await, 1);
}

/// S1-57: notifications go three months behind their reading, but not while their mail is still to leave, at once or with the digest.
#[tokio::test]
async fn notifications_go_when_they_are_read_and_told() {
    let house = House::open().await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    house.post.set_mood(Mood::Busy);
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    house.drain().await;
    house.execute("update solopm.notifications set read_at = now() - interval '100 days'").await;
    cull(&house).await;
    assert_eq!(house.told().await.len(), 2, "neither mail has left");
    house.post.set_mood(Mood::Willing);
    house.execute("update system.job_live set available_at = now()").await;
    house.drain().await;
    assert_eq!(house.mails().len(), 2);
    house.execute("update solopm.notifications set read_at = null where kind = 'issue.assigned'").await;
    cull(&house).await;
    assert_eq!(house.told().await, ["bob: #1 The door sticks (House) is yours now"], "what is unread stays");
}
