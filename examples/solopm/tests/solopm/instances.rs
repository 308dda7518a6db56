//! A second server on the same database, by accident.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::house::{House, Person};

/// S1-13: two servers share the work: each event is told once and each mail leaves once; only the one that holds the index writes to it,
/// and the other finds what it has written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_the_work() {
    let house = House::working().await;
    let (second, address) = house.second().await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(second.run(stop.clone()));
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    let elsewhere = ann.at(&address);
    let issues = reported(&project, &ann, &elsewhere).await;
    for (number, issue) in issues.iter().enumerate() {
        let through = if number % 2 == 0 { &ann } else { &elsewhere };
        through.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    }
    house.until("all jobs are done", "select count(*) from system.job_live", 0).await;
    assert_eq!(house.told().await.len(), 21, "the welcome and twenty issues");
    assert_eq!(house.mails().len(), 21);
    assert_eq!(house.jobs().await.failed(), 0);
    let hits = async |person: &Person| person.get("/api/search?words=door").await.as_array().unwrap().len();
    assert_eq!(hits(&ann).await, 20);
    outbox_testing::eventually("the other finds them too", async || (hits(&elsewhere).await == 20).then_some(())).await;
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Twenty issues, reported at either server in turns.
async fn reported(project: &str, ann: &Person, elsewhere: &Person) -> Vec<String> {
    let mut issues = Vec::new();
    for number in 0..10 {
        let (here, there) = (format!("Door {number}"), format!("Another door {number}"));
        let (a, b) = tokio::join!(ann.issue(project, &here), elsewhere.issue(project, &there));
        issues.extend([a, b]);
    }
    issues
}
