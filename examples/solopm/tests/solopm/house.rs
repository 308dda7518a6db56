//! A server for each test, on a database, a mail server and an index of its own, and people who use it.

use outbox::Outbox;
use outbox_testing::{Jobs, Sandbox, eventually, require_events};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use solopm::context;
use solopm::ids::UserId;
use solopm::mail::PostOffice;
use solopm::server::{Server, Settings, migrate};
use solopm::users::{self, Draft, EmailMode};
use solopm::webhooks::Reach;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, FromRow};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Every table that people change. A transaction that writes to one of them and publishes nothing is refused at its commit,
/// in every test of this program.
pub(crate) const PUBLISHING: [&str; 14] = [
    "solopm.users",
    "solopm.tokens",
    "solopm.projects",
    "solopm.members",
    "solopm.project_dependencies",
    "solopm.labels",
    "solopm.epics",
    "solopm.issues",
    "solopm.issue_blockers",
    "solopm.issue_labels",
    "solopm.links",
    "solopm.attachments",
    "solopm.comments",
    "solopm.pages",
];

/// A server with its surroundings.
pub(crate) struct House {
    pub(crate) outbox: Outbox,
    pub(crate) post: PostOffice,
    pub(crate) index: TempDir,
    /// Ends the server before its surroundings go.
    _ended: DropGuard,
    address: String,
    sandbox: Sandbox,
}

/// Whether a server runs its jobs by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worker {
    /// It does.
    Runs,
    /// They run when the test says [`House::drain`].
    Waits,
}

impl House {
    /// One whose jobs wait for the test.
    pub(crate) async fn open() -> Self {
        Self::with(Worker::Waits).await
    }

    /// One that works.
    pub(crate) async fn working() -> Self {
        Self::with(Worker::Runs).await
    }

    /// One that works, and whose mail goes elsewhere.
    pub(crate) async fn working_with_mail_at(mail: String) -> Self {
        Self::with_mail(Worker::Runs, Some(mail)).await
    }

    async fn with(worker: Worker) -> Self {
        Self::with_mail(worker, None).await
    }

    async fn with_mail(worker: Worker, mail: Option<String>) -> Self {
        let sandbox = Sandbox::database().await;
        migrate(sandbox.pool()).await.expect("it is migrated");
        require_events(sandbox.pool(), "system", &PUBLISHING).await;
        let (post, index) = (PostOffice::open().await.expect("a port"), tempfile::tempdir().expect("a folder"));
        let (server, address) = server(&sandbox, mail.unwrap_or_else(|| post.address()), &index).await;
        let outbox = server.outbox().clone();
        let shutdown = CancellationToken::new();
        let ended = shutdown.clone().drop_guard();
        tokio::spawn(async move {
            match worker {
                Worker::Runs => server.run(shutdown).await,
                Worker::Waits => server.serve(shutdown).await,
            }
        });
        Self { outbox, post, index, _ended: ended, address, sandbox }
    }

    /// A second server on the same database, mail server and index.
    pub(crate) async fn second(&self) -> (Server, String) {
        server(&self.sandbox, self.post.address(), &self.index).await
    }

    /// Runs every job that is due.
    pub(crate) async fn drain(&self) {
        self.outbox.drain().await.expect("the jobs run");
    }

    /// Somebody with an account.
    pub(crate) async fn person(&self, username: &str) -> Person {
        self.person_with(username, EmailMode::Instant, false).await
    }

    /// Somebody who runs the server.
    pub(crate) async fn admin(&self) -> Person {
        self.person_with("root", EmailMode::None, true).await
    }

    pub(crate) async fn person_with(&self, username: &str, email_mode: EmailMode, admin: bool) -> Person {
        let (name, email) = (username.to_uppercase(), format!("{username}@example.com"));
        let draft = Draft { username: username.to_owned(), name, email, email_mode, admin };
        let token = format!("token of {username}");
        let mut tx = self.outbox.begin().await.unwrap();
        let written = async {
            let user = users::create(&mut tx, &draft).await.unwrap().id;
            users::give_token(&mut tx, user, &token).await.unwrap();
            user
        };
        let id = self.outbox.scope_with(context::of_user(UserId(0)), written).await;
        tx.commit().await.unwrap();
        Person { id, token, http: Client::new(), server: self.address.clone() }
    }

    /// Nobody: a client without a token.
    pub(crate) fn stranger(&self) -> Person {
        Person { id: UserId(0), token: String::new(), http: Client::new(), server: self.address.clone() }
    }

    /// The one number that a query answers.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        self.sandbox.number(sql).await
    }

    /// Everything that a query answers.
    pub(crate) async fn rows<T: for<'r> FromRow<'r, PgRow> + Send + Unpin>(&self, sql: &str) -> Vec<T> {
        sqlx::query_as(AssertSqlSafe(sql)).fetch_all(self.sandbox.pool()).await.expect("the query runs")
    }

    /// The texts that a query answers.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        self.rows::<(String,)>(sql).await.into_iter().map(|(text,)| text).collect()
    }

    /// Runs statements of the test's own, which publish nothing.
    pub(crate) async fn execute(&self, sql: &str) {
        let text = format!("begin; set local outbox.publishes_nothing = 'of a test'; {sql}; commit");
        self.sandbox.execute(&text).await;
    }

    pub(crate) async fn jobs(&self) -> Jobs {
        self.sandbox.jobs().await
    }

    pub(crate) fn pool(&self) -> &sqlx::PgPool {
        self.sandbox.pool()
    }

    /// To whom mail has gone, with its subject, in order.
    pub(crate) fn mails(&self) -> Vec<(String, String)> {
        let mails = self.post.received();
        let subject = |mail: &solopm::mail::Received| mail.header("Subject").unwrap_or_default().to_owned();
        mails.iter().map(|mail| (mail.to.join(", "), subject(mail))).collect()
    }

    /// Who has been told what, by the notifications.
    pub(crate) async fn told(&self) -> Vec<String> {
        let told = "select u.username || ': ' || n.headline from solopm.notifications n
                    join solopm.users u on u.id = n.user_id order by 1";
        self.texts(told).await
    }

    /// Waits until a query answers this number.
    pub(crate) async fn until(&self, what: &str, sql: &str, number: i64) {
        eventually(what, async || (self.number(sql).await == number).then_some(())).await;
    }
}

async fn server(sandbox: &Sandbox, mail: String, index: &TempDir) -> (Server, String) {
    let settings = Settings {
        listen: "127.0.0.1:0".parse().expect("an address"),
        mail,
        webhooks: Reach::Anywhere,
        index: index.path().to_owned(),
    };
    let server = Server::open(sandbox.application_pool().clone(), &settings, Sandbox::suited).await;
    let server = server.expect("the server opens");
    let address = server.address().expect("an address").to_string();
    (server, address)
}

/// Somebody who uses the server.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) id: UserId,
    pub(crate) token: String,
    http: Client,
    server: String,
}

impl Person {
    /// The same, at another server.
    pub(crate) fn at(&self, server: &str) -> Self {
        Self { server: server.to_owned(), ..self.clone() }
    }

    /// Where the server is that they use.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.done(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.done(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Value {
        self.done(Method::PUT, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) {
        self.done(Method::DELETE, path, None).await;
    }

    async fn done(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self.ask(method.clone(), path, body).await;
        assert!(status.is_success(), "{method} {path}: {status} {answer}");
        answer
    }

    /// What the server answers, whether it does as it is asked or not.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let mut request = self.http.request(method, format!("http://{}{path}", self.server)).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("the server answers");
        let (status, text) = (response.status(), response.text().await.expect("the answer is read"));
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// A project of theirs, with these members.
    pub(crate) async fn project(&self, title: &str, members: &[&Person]) -> String {
        let project = self.post("/api/projects", json!({ "title": title })).await;
        let path = format!("/api/projects/{}", project["id"]);
        for member in members {
            self.post(&format!("{path}/members/{}", member.id), json!({ "role": "member" })).await;
        }
        path
    }

    /// An issue in a project, as its path.
    pub(crate) async fn issue(&self, project: &str, title: &str) -> String {
        let issue = self.post(&format!("{project}/issues"), json!({ "title": title })).await;
        format!("{project}/issues/{}", issue["number"])
    }
}
