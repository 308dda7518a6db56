//! The index stays as the rows are.

use std::time::Instant;

use outbox::{Envelope, EventId, Metadata, Payload, Subject};
use outbox_testing::eventually;
use reqwest::Method;
use serde_json::{Value, json};
use solopm::search::SearchSync;

use crate::house::{House, Person};

async fn found(person: &Person, words: &str) -> Vec<String> {
    let hits = person.get(&format!("/api/search?words={words}")).await;
    let mut hits: Vec<_> = hits.as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect();
    hits.sort();
    hits
}

fn event(name: &str, id: Option<&str>) -> Envelope {
    Envelope {
        id: EventId::from(uuid::Uuid::from_u128(1)),
        name: name.to_owned(),
        version: 1,
        occurred_at: chrono::DateTime::UNIX_EPOCH,
        subject: Subject { kind: name.split('.').next().unwrap().to_owned(), id: id.map(str::to_owned) },
        metadata: Metadata::new(),
        payload: Payload::from_json("{}"),
    }
}

/// S1-42, S1-44: of the fifty, these name a document and say what became of it; all others, and names that nobody knows, mean nothing to the
/// search, which is no error.
#[test]
fn events_map_to_documents() {
    let mapped = |name: &str| serde_json::to_value(SearchSync::of(&event(name, Some("12")))).unwrap();
    let sync = |index: &str, op: &str| json!({ "index": index, "id": 12, "op": op });
    let impact = [
        ("project.created", sync("projects", "upsert")),
        ("project.updated", sync("projects", "upsert")),
        ("project.deleted", sync("projects", "delete")),
        ("epic.created", sync("epics", "upsert")),
        ("epic.updated", sync("epics", "upsert")),
        ("epic.deleted", sync("epics", "delete")),
        ("issue.created", sync("issues", "upsert")),
        ("issue.updated", sync("issues", "upsert")),
        ("comment.created", sync("comments", "upsert")),
        ("comment.updated", sync("comments", "upsert")),
        ("comment.deleted", sync("comments", "delete")),
        ("wiki.created", sync("pages", "upsert")),
        ("wiki.updated", sync("pages", "upsert")),
        ("wiki.deleted", sync("pages", "delete")),
    ];
    for (name, expected) in &impact {
        assert_eq!(&mapped(name), expected, "{name}");
    }
    for name in crate::taxonomy::listed().into_iter().filter(|name| impact.iter().all(|(other, _)| other != name)) {
        assert_eq!(mapped(name), Value::Null, "{name}");
    }
    assert_eq!(mapped("planet.discovered"), Value::Null);
    assert_eq!(SearchSync::of(&event("issue.created", None)), None);
}

/// S1-42: an event without impact on the search has no job there, one with impact has one, in the event's own transaction.
#[tokio::test]
async fn only_what_matters_has_a_job() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let issue = ann.issue(&project, "The door sticks").await;
    ann.put(&format!("{issue}/status"), json!({ "status": "doing" })).await;
    let payloads =
        house.texts("select payload::text from system.job where job_type = 'search.search_sync' order by id").await;
    let ops: Vec<Value> = payloads.iter().map(|payload| serde_json::from_str(payload).unwrap()).collect();
    let shelves: Vec<_> = ops.iter().map(|job| job["index"].as_str().unwrap()).collect();
    assert_eq!(shelves, ["projects", "issues"]);
}

/// What people write is found by members, and by nobody else.
#[tokio::test]
async fn members_find_what_is_written() {
    let house = House::open().await;
    let (ann, eve) = (house.person("ann").await, house.person("eve").await);
    let project = ann.project("The mansion", &[]).await;
    let issue = ann.issue(&project, "A sticky door").await;
    ann.post(&format!("{issue}/comments"), json!({ "body": "Use beeswax" })).await;
    ann.post(&format!("{project}/wiki/wood"), json!({ "title": "Wood", "body": "Mostly larch" })).await;
    house.drain().await;
    assert_eq!(found(&ann, "mansion").await.len(), 1);
    assert_eq!(found(&ann, "sticky").await.len(), 2, "the issue, and the comment under its title");
    assert_eq!(found(&ann, "beeswax").await.len(), 1);
    assert_eq!(found(&ann, "larch").await.len(), 1);
    assert_eq!(found(&eve, "sticky").await, Vec::<String>::new());
    assert_eq!(eve.ask(Method::GET, "/api/search?words=%22((", None).await.0, 200, "odd words are no error");
}

/// S1-42: the row is indexed and not what the event said: a job that comes late brings back neither a title that is gone nor a document
/// that is deleted.
#[tokio::test]
async fn a_late_job_brings_nothing_back() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let issue = ann.issue(&project, "A sticky door").await;
    let comment = ann.post(&format!("{issue}/comments"), json!({ "body": "Use beeswax" })).await;
    // The jobs of creation wait; those of the change and the deletion are done before them.
    house.execute("update system.job_live set available_at = now() + interval '1 hour'").await;
    ann.put(&issue, json!({ "title": "A smooth door", "description": "" })).await;
    ann.delete(&format!("{issue}/comments/{comment}")).await;
    house.drain().await;
    assert_eq!((found(&ann, "smooth").await.len(), found(&ann, "beeswax").await.len()), (1, 0));
    house.execute("update system.job_live set available_at = now()").await;
    house.drain().await;
    assert_eq!((found(&ann, "smooth").await.len(), found(&ann, "sticky").await.len()), (1, 0));
    assert_eq!(found(&ann, "beeswax").await, Vec::<String>::new());
    let jobs = house.jobs().await.of("search.search_sync");
    assert_eq!((jobs.len(), jobs.succeeded()), (5, 5));
}

/// S1-43: a job that runs again leaves one document.
#[tokio::test]
async fn a_job_that_runs_again_leaves_one_document() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    ann.issue(&project, "A sticky door").await;
    house.drain().await;
    house
        .execute(
            "insert into system.job_live (id, job_type, payload_version, payload, metadata, max_attempts, priority)
             select gen_random_uuid(), job_type, payload_version, payload, metadata, max_attempts, priority
             from system.job_succeeded where job_type = 'search.search_sync'",
        )
        .await;
    house.drain().await;
    assert_eq!(found(&ann, "sticky").await.len(), 1);
}

/// S1-43: jobs of the same documents that race, while the rows change and go under them, end at what the rows are. All wait at the documents'
/// locks first, so that they really are side by side.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_jobs_end_at_the_rows() {
    let house = House::working().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let doomed = ann.project("Ruin", &[]).await;
    let issue = ann.issue(&project, "word0").await;
    let lost = ann.issue(&doomed, "lost0").await;
    let ids: Vec<(i64,)> = house.rows("select id from solopm.issues order by id").await;
    house.until("the first jobs are done", "select count(*) from system.job_live", 0).await;
    for round in 1..=10 {
        let mut held = house.pool().begin().await.unwrap();
        for (id,) in &ids {
            let lock = sqlx::query("select pg_advisory_xact_lock(hashtextextended('solopm.search issues/' || $1, 0))");
            lock.bind(id).execute(&mut *held).await.unwrap();
        }
        for change in 0..3 {
            ann.put(&issue, json!({ "title": format!("word{round}"), "description": change.to_string() })).await;
            if round < 10 {
                ann.put(&lost, json!({ "title": format!("lost{round}"), "description": change.to_string() })).await;
            }
        }
        let waiting =
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'";
        eventually("jobs wait side by side", async || (house.number(waiting).await >= 2).then_some(())).await;
        held.commit().await.unwrap();
        if round == 10 {
            ann.delete(&doomed).await;
        }
    }
    house.until("all jobs are done", "select count(*) from system.job_live", 0).await;
    assert_eq!(found(&ann, "word10").await.len(), 1);
    for round in 0..10 {
        assert_eq!(found(&ann, &format!("word{round} lost{round}")).await, Vec::<String>::new());
    }
    assert_eq!(house.jobs().await.failed(), 0);
}

/// A project takes everything in it along, in the index as in the tables.
#[tokio::test]
async fn a_project_takes_its_documents_along() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let issue = ann.issue(&project, "A sticky door").await;
    ann.post(&format!("{issue}/comments"), json!({ "body": "sticky indeed" })).await;
    house.drain().await;
    assert_eq!(found(&ann, "sticky").await.len(), 2);
    ann.delete(&project).await;
    // Somebody is let in again under the same id, as it were: what is left in the index would be found.
    house
        .execute(&format!(
            "insert into solopm.projects (id, title) overriding system value values ({}, 'x');
        insert into solopm.members select id, {}, 'owner' from solopm.projects",
            project.rsplit('/').next().unwrap(),
            ann.id
        ))
        .await;
    assert_eq!(found(&ann, "sticky").await.len(), 2, "until the job has run");
    house.drain().await;
    assert_eq!(found(&ann, "sticky").await, Vec::<String>::new());
}

/// S1-61: a change is found well within two seconds, while a thousand other jobs wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_found_within_two_seconds() {
    let house = House::working().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let issue = ann.issue(&project, "word0").await;
    house
        .execute(
            "insert into system.job_live (id, job_type, payload_version, payload, metadata, max_attempts, priority, available_at)
             select gen_random_uuid(), 'notifications.send_email', 1, '{\"notification\": 0}', '{}', 8, 1, now()
             from generate_series(1, 1000)",
        )
        .await;
    let mut times = Vec::new();
    for round in 1..=5 {
        let began = Instant::now();
        ann.put(&issue, json!({ "title": format!("word{round}"), "description": "" })).await;
        let word = format!("word{round}");
        eventually("it is found", async || (found(&ann, &word).await.len() == 1).then_some(())).await;
        times.push(began.elapsed());
    }
    times.sort();
    assert!(times[2].as_secs_f64() < 2.0, "{times:?}");
}
