//! A small application: issues of projects, their members, and a server that streams to them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use outbox::{EventId, Metadata, Outbox};
use outbox_axum::{Frame, LastEventId, Sse};
use outbox_testing::Sandbox;
use sqlx::AssertSqlSafe;
use tokio::net::TcpSocket;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// An issue was changed.
#[outbox::event("issue.updated")]
pub struct IssueUpdated {
    #[subject]
    pub issue: i64,
    pub title: String,
}

/// A page of the wiki was changed.
#[outbox::event("wiki.updated")]
pub struct WikiUpdated {
    #[subject]
    pub page: i64,
}

/// How a test asks for a stream.
pub type Asked = BTreeMap<String, String>;

#[derive(Clone)]
pub struct App {
    pub outbox: Outbox,
    pub sandbox: Arc<Sandbox>,
    /// How often each user's right was asked for.
    pub checks: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl App {
    pub async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.member (project text not null, name text not null)").await;
        let outbox = sandbox.outbox().build().await.unwrap();
        Self { outbox, sandbox: Arc::new(sandbox), checks: Arc::default() }
    }

    /// Changes an issue, within a project.
    pub async fn update(&self, project: &str, issue: i64, title: &str) -> EventId {
        let context = Metadata::new().tenant(project).actor("ann").header("via", "test");
        let updated = IssueUpdated { issue, title: title.to_owned() };
        let publish = async {
            let mut tx = self.outbox.begin().await.unwrap();
            let event = self.outbox.publish(&mut tx, &updated).await.unwrap().event_id;
            tx.commit().await.unwrap();
            event
        };
        self.outbox.scope_with(context, publish).await
    }

    pub async fn update_wiki(&self, page: i64) -> EventId {
        let mut tx = self.outbox.begin().await.unwrap();
        let event = self.outbox.publish(&mut tx, &WikiUpdated { page }).await.unwrap().event_id;
        tx.commit().await.unwrap();
        event
    }

    pub async fn join(&self, project: &str, name: &str) {
        self.sandbox.execute(&format!("insert into :schema.member values ('{project}', '{name}')")).await;
    }

    pub async fn leave(&self, project: &str, name: &str) {
        self.sandbox
            .execute(&format!("delete from :schema.member where project = '{project}' and name = '{name}'"))
            .await;
    }

    async fn has_member(self, project: String, name: String) -> Result<bool, sqlx::Error> {
        if name == "stuck" {
            *self.checks.lock().unwrap().entry(name).or_default() += 1;
            return std::future::pending().await;
        }
        let text =
            format!("select exists (select from {} where project = $1 and name = $2)", self.sandbox.table("member"));
        let asked = sqlx::query_scalar(AssertSqlSafe(text)).bind(&project).bind(&name);
        let answer = asked.fetch_one(self.sandbox.application_pool()).await;
        *self.checks.lock().unwrap().entry(name).or_default() += 1;
        answer
    }

    pub fn checks(&self, name: &str) -> usize {
        self.checks.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

/// `GET /live?events=issue.*&project=..&member=..&buffer=..&pad=..&heartbeat=..`
async fn live(State(app): State<App>, Query(asked): Query<Asked>, last: LastEventId) -> Response {
    let events = asked.get("events").map_or("issue.*", String::as_str);
    let mut stream = app.outbox.live().events([events]).resume(last.as_deref());
    if let Some(project) = asked.get("project") {
        stream = stream.tenant(project);
    }
    if let Some(buffer) = asked.get("buffer") {
        stream = stream.buffer(buffer.parse().unwrap());
    }
    let mut response = Sse::new(stream.subscribe().unwrap()).retry(Duration::from_secs(1));
    if let Some(millis) = asked.get("heartbeat") {
        response = response.heartbeat(Duration::from_millis(millis.parse().unwrap()));
    }
    if let Some(name) = asked.get("member").cloned() {
        response = response.check(move |envelope| {
            let project = envelope.metadata.tenant.clone().unwrap_or_default();
            app.clone().has_member(project, name.clone())
        });
    }
    if let Some(size) = asked.get("pad") {
        let padding = "x".repeat(size.parse().unwrap());
        response = response.map(move |envelope| {
            let issue = envelope.subject.id.clone().unwrap_or_default();
            Some(Frame::text(format!("{issue} {padding}")))
        });
    }
    response.into_response()
}

/// A server, until it is stopped.
pub struct Server {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Server {
    pub fn start(app: &App) -> Self {
        let router = Router::new().route("/live", get(live)).with_state(app.clone());
        let socket = TcpSocket::new_v4().unwrap();
        // So that a client who does not read is felt soon.
        socket.set_send_buffer_size(16 * 1024).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1_024).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            axum::serve(listener, router).with_graceful_shutdown(async { drop(stopped.await) }).await.unwrap();
        });
        Self { address, stop: Some(stop), task }
    }

    /// Asks it to end, and waits for its open responses.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.task).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
