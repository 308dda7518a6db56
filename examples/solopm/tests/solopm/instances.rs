//! A second server on the same database, by accident.

use serde_json::json;
use solopm::ids::ProjectId;
use solopm::issues::Draft;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::house::{House, Person};
use crate::live::Page;

/// Two servers on one database, and a project whose owner speaks to either.
struct Servers {
    house: House,
    ann: Person,
    bob: Person,
    project: String,
    /// Ann, at the second server.
    elsewhere: Person,
    stop: CancellationToken,
    second: JoinHandle<anyhow::Result<()>>,
}

impl Servers {
    async fn open() -> Self {
        let house = House::working().await;
        let (second, address) = house.second().await;
        let stop = CancellationToken::new();
        let second = tokio::spawn(second.run(stop.clone()));
        let (ann, bob) = (house.person("ann").await, house.person("bob").await);
        let project = ann.project("House", &[&bob]).await;
        let elsewhere = ann.at(&address);
        Self { house, ann, bob, project, elsewhere, stop, second }
    }

    /// The second one ends in good order.
    async fn end(self) {
        self.stop.cancel();
        self.second.await.unwrap().unwrap();
    }
}

/// S1-13: two servers share the work: each event is told once and each mail leaves once; only the one that holds the index writes to it,
/// and the other finds what it has written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_the_work() {
    let servers = Servers::open().await;
    let Servers { house, ann, bob, project, elsewhere, .. } = &servers;
    let issues = reported(project, ann, elsewhere).await;
    for (number, issue) in issues.iter().enumerate() {
        let through = if number % 2 == 0 { &ann } else { &elsewhere };
        through.put(&format!("{issue}/assignee"), json!({ "user": bob.id })).await;
    }
    house.until("all jobs are done", "select count(*) from system.job_live", 0).await;
    assert_eq!(house.told().await.len(), 21, "the welcome and twenty issues");
    assert_eq!(house.mails().len(), 21);
    assert_eq!(house.jobs().await.failed(), 0);
    let hits = async |person: &Person| person.get("/api/search?words=door").await.as_array().unwrap().len();
    assert_eq!(hits(ann).await, 20);
    outbox_testing::eventually("the other finds them too", async || (hits(elsewhere).await == 20).then_some(())).await;
    servers.end().await;
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

/// S1-26: the order of ids is not the order of commits: an event that was published before another and committed behind it, when that one
/// was done already, is done too, by whichever server. And what happens to one issue, through two servers in turns, is heard by a page in the
/// order in which it happened, and the search ends at the newest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_commits_late_is_not_passed_over() {
    let servers = Servers::open().await;
    let Servers { house, ann, bob, project, elsewhere, .. } = &servers;
    let found = solopm::projects::projects_of(house.pool(), ann.id).await.unwrap().remove(0);
    let late = Draft { title: "late".into(), description: "@bob".into() };
    let early = Draft { title: "early".into(), ..late.clone() };
    // Two transactions that do not wait for each other: the issues stand in two projects.
    let garden = ann.project("Garden", &[bob]).await;
    let garden_id = garden.rsplit('/').next().unwrap().parse().unwrap();
    let garden = solopm::projects::Project { id: ProjectId(garden_id), title: "Garden".into(), ..found.clone() };
    let mut first = house.outbox.begin().await.unwrap();
    house.outbox.scope(solopm::issues::create(&mut first, &found, None, &late)).await.unwrap();
    let mut behind = house.outbox.begin().await.unwrap();
    house.outbox.scope(solopm::issues::create(&mut behind, &garden, None, &early)).await.unwrap();
    behind.commit().await.unwrap();
    let told = |title: &str| format!("select count(*) from solopm.notifications where headline like '%{title} (%'");
    house.until("what committed first is told", &told("early"), 1).await;
    assert_eq!(house.number(&told("late")).await, 0);
    first.commit().await.unwrap();
    house.until("what was published first is told too", &told("late"), 1).await;

    let issue = format!("{project}/issues/1");
    let mut page = Page::settled(bob, project).await;
    for change in 0..20 {
        let through = if change % 2 == 0 { &ann } else { &elsewhere };
        through.put(&issue, json!({ "title": format!("word{change}"), "description": "" })).await;
    }
    for change in 0..20 {
        let heard = page.next().await.unwrap();
        assert_eq!(
            (heard.event(), &heard.data["payload"]["issue_title"]),
            ("issue.updated", &json!(format!("word{change}")))
        );
    }
    house.until("all jobs are done", "select count(*) from system.job_live", 0).await;
    assert_eq!(ann.get("/api/search?words=word19").await.as_array().unwrap().len(), 1);
    servers.end().await;
}
