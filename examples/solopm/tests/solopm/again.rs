//! Everything runs again.

use serde_json::json;

use crate::house::House;
use crate::live::Page;
use crate::receiver::Receiver;

/// S1-29, S1-4: every job that an event has caused runs once more, as when the record of each first run was lost: there is no second
/// notification, no second mail, no second document, no second delivery, no second row of the audit, and no page hears of it again.
#[tokio::test]
async fn what_runs_again_has_no_second_effect() {
    let house = House::open().await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    let receiver = Receiver::open().await;
    receiver.believe(&ann.post(&format!("{project}/webhooks"), json!({ "url": receiver.url })).await["secret"]);
    let issue = ann.issue(&project, "The door sticks").await;
    let mut page = Page::settled(&ann, &project).await;
    ann.post(&format!("{issue}/comments"), json!({ "body": "@bob, use beeswax" })).await;
    assert_eq!(page.next().await.unwrap().event(), "comment.created");
    house.drain().await;
    let audit = "select count(*) from solopm.audit_log";
    let effects = async || {
        let found = ann.get("/api/search?words=beeswax").await.as_array().unwrap().len();
        (house.told().await, house.mails(), receiver.taken().len(), found, house.number(audit).await)
    };
    let (before, jobs) = (effects().await, house.jobs().await.succeeded());
    house
        .execute(
            "insert into system.job_live (id, event_id, job_type, payload_version, payload, metadata, max_attempts, priority)
             select gen_random_uuid(), event_id, job_type, payload_version, payload, metadata, max_attempts, priority
             from system.job_succeeded where job_type <> 'webhooks.deliver';
             delete from system.inbox",
        )
        .await;
    house.drain().await;
    let again = house.jobs().await.succeeded();
    assert!(again > jobs + 5, "{jobs} jobs, and {again} when they had run again");
    assert_eq!(effects().await, before);
    ann.put(&format!("{issue}/status"), json!({ "status": "doing" })).await;
    assert_eq!(page.next().await.unwrap().event(), "issue.status_changed", "the next that it hears is something else");
}
