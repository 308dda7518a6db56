//! What the pages of a project's members hear.

use std::time::Duration;

use outbox_testing::eventually;
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::house::{House, Person};

/// A page's stream.
pub(crate) struct Page {
    response: Response,
    text: String,
}

/// What it hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    name: String,
    id: String,
    pub(crate) data: Value,
}

impl Heard {
    /// The event that it tells of.
    pub(crate) fn event(&self) -> &str {
        self.data["name"].as_str().unwrap_or_default()
    }
}

impl Page {
    pub(crate) async fn open(person: &Person, project: &str, last: Option<&str>) -> Self {
        let url = format!("http://{}{project}/live", person.server());
        let mut request = Client::new().get(url).bearer_auth(&person.token);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.expect("the server answers");
        assert_eq!(response.status(), StatusCode::OK);
        Self { response, text: String::new() }
    }

    /// One that has heard that it is to read, and is up to date from then on.
    pub(crate) async fn settled(person: &Person, project: &str) -> Self {
        let mut page = Self::open(person, project, None).await;
        assert_eq!(page.next().await.unwrap().name, "refetch");
        page
    }

    /// The next frame that is no heartbeat; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        let heard = tokio::time::timeout(Duration::from_secs(20), self.frame());
        heard.await.expect("the page hears something")
    }

    async fn frame(&mut self) -> Option<Heard> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let lines = frame.lines().filter_map(|line| line.split_once(": "));
                    lines
                        .filter(|(found, _)| *found == name)
                        .map(|(_, value)| value.to_owned())
                        .next()
                        .unwrap_or_default()
                };
                let (name, id, data) = (field("event"), field("id"), field("data"));
                self.text = self.text.split_off(self.text.len() - rest.len());
                if !data.is_empty() {
                    return Some(Heard { name, id, data: serde_json::from_str(&data).unwrap() });
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// S1-39: a frame comes behind the commit and only then: what is rolled back is never heard, and what commits late comes when it commits.
#[tokio::test]
async fn a_frame_comes_behind_the_commit() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let mut page = Page::settled(&ann, &project).await;
    let found = solopm::projects::projects_of(house.pool(), ann.id).await.unwrap().remove(0);
    let draft = |title: &str| solopm::issues::Draft { title: title.to_owned(), description: String::new() };
    let mut undone = house.outbox.begin().await.unwrap();
    house.outbox.scope(solopm::issues::create(&mut undone, &found, None, &draft("undone"))).await.unwrap();
    undone.rollback().await.unwrap();
    let mut late = house.outbox.begin().await.unwrap();
    house.outbox.scope(solopm::issues::create(&mut late, &found, None, &draft("late"))).await.unwrap();
    ann.post(&format!("{project}/wiki/doors"), json!({ "title": "Doors", "body": "" })).await;
    assert_eq!(page.next().await.unwrap().event(), "wiki.created", "the other has not committed");
    late.commit().await.unwrap();
    let heard = page.next().await.unwrap();
    assert_eq!((heard.event(), &heard.data["payload"]["issue_title"]), ("issue.created", &json!("late")));
}

/// S1-39: a page that is never read costs nobody anything: requests are answered, jobs run, and another page hears everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_does_not_read_holds_nobody_up() {
    let house = House::working().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let _stalled = Page::open(&ann, &project, None).await;
    let mut page = Page::settled(&ann, &project).await;
    let issue = ann.issue(&project, "The door sticks").await;
    assert_eq!(page.next().await.unwrap().event(), "issue.created");
    let long = "x".repeat(3_000);
    for change in 0..60 {
        let text = json!({ "title": format!("word{change}"), "description": format!("{long}{change}") });
        ann.put(&issue, text).await;
        let heard = page.next().await.unwrap();
        assert_eq!(heard.data["payload"]["issue_title"], format!("word{change}"), "{}", heard.name);
    }
    house.until("the jobs are done", "select count(*) from system.job_live", 0).await;
}

/// S1-40: a page that comes back is told to read anew, unless the server knows what it has missed and tells it; after a restart it does not
/// know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_comes_back_is_told_what_it_missed() {
    let house = House::open().await;
    let ann = house.person("ann").await;
    let project = ann.project("House", &[]).await;
    let mut page = Page::settled(&ann, &project).await;
    let issue = ann.issue(&project, "The door sticks").await;
    let last = page.next().await.unwrap().id;
    drop(page);
    ann.put(&format!("{issue}/status"), json!({ "status": "doing" })).await;
    let mut page = Page::open(&ann, &project, Some(&last)).await;
    assert_eq!(page.next().await.unwrap().event(), "issue.status_changed", "it is remembered");
    let mut stranger = Page::open(&ann, &project, Some("a position of long ago")).await;
    assert_eq!(stranger.next().await.unwrap().name, "refetch");
    let (second, address) = house.second().await;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(second.serve(stop.clone()));
    let mut restarted = Page::open(&ann.at(&address), &project, Some(&last)).await;
    assert_eq!(restarted.next().await.unwrap().name, "refetch", "another process remembers nothing");
    stop.cancel();
    assert_eq!(restarted.next().await, None, "a server that ends ends its streams");
    serving.await.unwrap().unwrap();
}

/// S1-41, S1-19, S1-17: members hear of their own project, and of nothing else: not of another, not of what belongs to none, not of an export.
/// To others the stream is not there; and whoever is shown out hears no more, although the stream stays open.
#[tokio::test]
async fn members_hear_of_their_project_alone() {
    let house = House::open().await;
    let (ann, bob, eve) = (house.person("ann").await, house.person("bob").await, house.person("eve").await);
    let project = ann.project("House", &[&bob]).await;
    let other = ann.project("Garden", &[]).await;
    assert_eq!(eve.ask(Method::GET, &format!("{project}/live"), None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(house.stranger().ask(Method::GET, &format!("{project}/live"), None).await.0, StatusCode::UNAUTHORIZED);
    let (second, address) = house.second().await;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(second.serve(stop.clone()));
    let mut anns = Page::settled(&ann.at(&address), &project).await;
    let mut bobs = Page::settled(&bob.at(&address), &project).await;
    ann.issue(&other, "Rake").await;
    ann.post("/api/login", json!({ "token": ann.token })).await;
    ann.post(&format!("{project}/export"), json!({})).await;
    let issue = ann.issue(&project, "The door sticks").await;
    for page in [&mut anns, &mut bobs] {
        assert_eq!(page.next().await.unwrap().event(), "issue.created", "the first that they hear");
    }
    ann.delete(&format!("{project}/members/{}", bob.id)).await;
    for status in ["doing", "done", "doing"] {
        ann.put(&format!("{issue}/status"), json!({ "status": status })).await;
    }
    for expected in ["project.member_removed", "issue.status_changed", "issue.status_changed", "issue.status_changed"] {
        assert_eq!(anns.next().await.unwrap().event(), expected);
    }
    // Asked for each frame, so it is by then that he is no member any more: to the stream's end he hears nothing.
    stop.cancel();
    assert_eq!(bobs.next().await, None, "whoever was shown out hears no more");
    serving.await.unwrap().unwrap();
}

/// S1-11: one publish, five consumers, each with the same event: the audit, a notification, a frame, a document, a delivery; and one table
/// of jobs for all that is queued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_publish_feeds_five_consumers() {
    let house = House::working().await;
    let (ann, bob) = (house.person("ann").await, house.person("bob").await);
    let project = ann.project("House", &[&bob]).await;
    let receiver = crate::receiver::Receiver::open().await;
    let wish = json!({ "url": receiver.url, "event_types": ["comment.created"] });
    receiver.believe(&ann.post(&format!("{project}/webhooks"), wish).await["secret"]);
    let issue = ann.issue(&project, "The door sticks").await;
    let mut page = Page::settled(&ann, &project).await;
    ann.post(&format!("{issue}/comments"), json!({ "body": "@bob, use beeswax" })).await;
    let event = "select id::text from system.event where event_type = 'comment.created'";
    let event = house.texts(event).await.remove(0);
    let ulid = outbox::EventId::from(event.parse::<uuid::Uuid>().unwrap()).to_string();
    assert_eq!(page.next().await.unwrap().data["id"], ulid);
    assert_eq!(receiver.until("comment.created").await.0, ulid);
    let notified = format!("select count(*) from solopm.notifications where event_id = '{event}'");
    house.until("bob is notified", &notified, 1).await;
    let audited = format!("select count(*) from solopm.audit_log where event_id = '{event}'");
    assert_eq!(house.number(&audited).await, 1);
    let found = async || (ann.get("/api/search?words=beeswax").await.as_array().unwrap().len() == 1).then_some(());
    eventually("it is found", found).await;
    let queues = "select count(*) from pg_class where relkind in ('r', 'p') and relname ~ '(job|queue)'
                  and relnamespace <> 'system'::regnamespace";
    assert_eq!(house.number(queues).await, 0, "nobody has a queue of its own");
}
