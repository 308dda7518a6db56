//! One row of the audit for each event, in its transaction.

use serde_json::{Value, json};
use solopm::audit::Entry;
use solopm::context;
use solopm::ids::ProjectId;
use solopm::{audit, issues};

use crate::house::House;

/// How events and rows of the audit stand to each other: rows without event, events without row.
const ORPHANS: &str = "select count(*) from system.event e full join solopm.audit_log a on a.event_id = e.id
                       where e.id is null or a.event_id is null";

/// S1-2, S1-3: the change, its row in the audit and its event are one transaction: each is there before the commit, seen from
/// within, nothing is there from outside, and a rollback leaves none.
#[tokio::test]
async fn change_audit_and_event_are_one_transaction() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let path = ann.project("House", &[]).await;
    let project = solopm::projects::projects_of(house.pool(), ann.id).await.unwrap().remove(0);
    let count = "select (select count(*) from system.event where event_type = 'issue.created')
                      + (select count(*) from solopm.audit_log where action_type = 'issue.created')
                      + (select count(*) from solopm.issues)";
    for commits in [false, true] {
        let mut tx = house.outbox.begin().await.unwrap();
        let draft = issues::Draft { title: "The door sticks".into(), description: String::new() };
        let created = issues::create(&mut tx, &project, Some(ann.id), &draft);
        house.outbox.scope_with(context::of_user(ann.id), created).await.unwrap();
        let within: i64 = sqlx::query_scalar(count).fetch_one(&mut *tx).await.unwrap();
        assert_eq!((within, house.number(count).await), (3, 0));
        if commits {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
        assert_eq!(house.number(count).await, if commits { 3 } else { 0 });
    }
    assert_eq!(ann.get(&format!("{path}/issues")).await.as_array().unwrap().len(), 1);
}

/// S1-4, S1-15: every event has exactly one row, of the same name, also when everything that follows from it fails, is tried again,
/// and fails for good.
#[tokio::test]
async fn what_follows_changes_nothing_of_the_audit() {
    let house = House::open().await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    house.drain().await;
    house.execute("drop table solopm.notifications cascade").await;
    ann.put(&format!("{issue}/status"), json!({ "status": "doing" })).await;
    house.drain().await;
    let jobs = house.jobs().await.of("notifications.issue_status_changed");
    assert_eq!((jobs.len(), jobs.live()), (1, 1), "it failed and waits for its next try");
    assert_eq!(house.number(ORPHANS).await, 0);
    let differ = "select count(*) from system.event e join solopm.audit_log a on a.event_id = e.id
                  where a.action_type <> e.event_type";
    assert_eq!(house.number(differ).await, 0);
}

/// S1-1, S1-6: the row says who, where, what, and what it looked like then.
#[tokio::test]
async fn a_row_tells_who_did_what_as_it_was() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let path = ann.project("House", &[]).await;
    let issue = ann.issue(&path, "The door sticks").await;
    ann.put(&issue, json!({ "title": "The door is stuck", "description": "" })).await;
    let trail = ann.get(&format!("{path}/audit")).await;
    let trail = trail.as_array().unwrap();
    assert_eq!(trail.len(), 4, "project, member, issue, update");
    let update = &trail[0];
    assert_eq!((&update["action_type"], &update["actor"]), (&json!("issue.updated"), &json!("ANN")));
    assert_eq!(update["payload"]["changes"], json!({"title": {"prev": "The door sticks", "new": "The door is stuck"}}));
    let created: &Value = &trail[1]["payload"];
    assert_eq!((&created["issue_title"], &created["number"]), (&json!("The door sticks"), &json!(1)));
    assert_eq!(created["project_title"], "House");
}

/// S1-19: what belongs to no project has a row without one, which no project's trail shows.
#[tokio::test]
async fn what_belongs_to_no_project_is_in_nobodys_trail() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let path = ann.project("House", &[]).await;
    house.stranger().ask(reqwest::Method::POST, "/api/login", Some(json!({ "token": "wrong" }))).await;
    let failed = "select count(*) from solopm.audit_log
                  where action_type = 'auth.login_failed' and project_id is null and actor is null";
    assert_eq!(house.number(failed).await, 1);
    let id: i64 = path.rsplit('/').next().unwrap().parse().unwrap();
    let trail: Vec<Entry> = audit::trail(house.pool(), ProjectId(id), 100).await.unwrap();
    assert!(trail.iter().all(|entry| entry.resource_type == "project"), "{trail:?}");
    house.drain().await;
    assert_eq!(house.told().await, Vec::<String>::new());
}
