//! What happens to issues.

use serde_json::json;

use crate::house::House;

const OF_ISSUES: &str = "select event_type from system.event where subject_type = 'issue' order by id";

/// S1-18: one drag that changes rank, epic and parent at once is one `issue.moved`, which says all three; and a drag to where it stands
/// is none.
#[tokio::test]
async fn one_drag_is_one_event() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let epic = ann.post(&format!("{project}/epics"), json!({ "title": "Doors" })).await["id"].clone();
    let issue = ann.issue(&project, "The door sticks").await;
    let parent = ann.post(&format!("{project}/issues"), json!({ "title": "All doors" })).await["id"].clone();
    let place = json!({ "rank": 7, "epic_id": epic, "parent_id": parent });
    ann.put(&format!("{issue}/place"), place.clone()).await;
    ann.put(&format!("{issue}/place"), place).await;
    assert_eq!(house.texts(OF_ISSUES).await, ["issue.created", "issue.created", "issue.moved"]);
    let changes = "select payload->>'changes' from system.event where event_type = 'issue.moved'";
    let changes: serde_json::Value = serde_json::from_str(&house.texts(changes).await[0]).unwrap();
    assert_eq!(
        changes,
        json!({
            "rank": { "prev": 1024, "new": 7 },
            "epic_id": { "prev": null, "new": epic },
            "parent_id": { "prev": null, "new": parent },
        })
    );
    for (other, field) in [
        (json!({ "rank": 8, "epic_id": epic, "parent_id": parent }), "rank"),
        (json!({ "rank": 8, "epic_id": null, "parent_id": parent }), "epic_id"),
        (json!({ "rank": 8, "epic_id": null, "parent_id": null }), "parent_id"),
    ] {
        ann.put(&format!("{issue}/place"), other).await;
        let last = "select k from system.event, jsonb_object_keys(payload->'changes') k where id = (select max(id::text)::uuid from system.event)";
        assert_eq!(house.texts(last).await, [field]);
    }
    assert_eq!(house.texts(OF_ISSUES).await[3..], ["issue.moved", "issue.moved", "issue.moved"]);
}

/// Nothing is said where nothing changes, and numbers are given out once, to whoever asks at the same moment.
#[tokio::test]
async fn nothing_is_said_where_nothing_changes() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&issue, json!({ "title": "The door sticks", "description": "" })).await;
    ann.put(&format!("{issue}/status"), json!({ "status": "todo" })).await;
    ann.delete(&format!("{issue}/assignee")).await;
    assert_eq!(house.texts(OF_ISSUES).await, ["issue.created"]);
    let (a, b, c) = tokio::join!(ann.issue(&project, "a"), ann.issue(&project, "b"), ann.issue(&project, "c"));
    let mut paths = [a, b, c].map(|path| path.rsplit('/').next().unwrap().to_owned());
    paths.sort();
    assert_eq!(paths, ["2", "3", "4"]);
}

/// S1-17: an export has its row in the audit and nothing else: no notification, no search, and no delivery, also not to an endpoint that
/// wants everything. (That no page hears of it: `live`.)
#[tokio::test]
async fn an_export_is_for_the_audit_alone() {
    let house = House::open().await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    ann.issue(&project, "The door sticks").await;
    house.drain().await;
    let receiver = crate::receiver::Receiver::open().await;
    let endpoint = ann.post(&format!("{project}/webhooks"), json!({ "url": receiver.url })).await;
    receiver.believe(&endpoint["secret"]);
    let (jobs, told) = (house.jobs().await.len(), house.told().await);
    let copy = bob.post(&format!("{project}/export"), json!({})).await;
    assert_eq!(copy["issues"].as_array().unwrap().len(), 1);
    assert_eq!(house.jobs().await.len(), jobs + 1, "no job but the one that finds nothing to deliver");
    house.drain().await;
    assert_eq!(house.jobs().await.len(), jobs + 1);
    assert_eq!((house.told().await, receiver.taken()), (told, vec![]));
    assert_eq!(house.number("select count(*) from system.webhook_delivery").await, 0);
    let audited = "select count(*) from solopm.audit_log where action_type = 'project.exported'";
    assert_eq!(house.number(audited).await, 1);
}
