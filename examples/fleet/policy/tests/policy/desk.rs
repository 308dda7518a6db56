//! A policy service for each test, and who gives it commands.

use outbox::Outbox;
use outbox_testing::Sandbox;
use platform::Release;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// May do everything; may not cancel; may do nothing.
pub(crate) const ANN: &str = "token-of-ann";
pub(crate) const BOB: &str = "token-of-bob";
pub(crate) const BILLING: &str = "token-of-billing";

pub(crate) struct Desk {
    pub(crate) outbox: Outbox,
    pub(crate) sandbox: Sandbox,
    http: Client,
    address: String,
}

impl Desk {
    /// The service of this release. Its broker is away: what it tells waits.
    pub(crate) async fn open(release: Release) -> Self {
        let sandbox = Sandbox::database().await;
        policy::migrate(sandbox.pool()).await.unwrap();
        let relay = platform::relay("nats://127.0.0.1:1", "policy").await.unwrap();
        let pool = sandbox.application_pool().clone();
        let outbox = Sandbox::suited(policy::outbox(pool, release, relay)).build().await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = policy::router(outbox.clone(), release);
        // It ends with the test's runtime.
        tokio::spawn(policy::serve(listener, router, std::future::pending()));
        Self { outbox, sandbox, http: Client::new(), address }
    }

    pub(crate) async fn ask(&self, token: &str, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = self.http.request(method, format!("{}/{path}", self.address)).bearer_auth(token);
        let answer = request.json(body).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) async fn sell(&self, token: &str, command: &Value) -> (StatusCode, Value) {
        self.ask(token, Method::POST, "policies", command).await
    }
}

/// A sale that makes sense.
pub(crate) fn sale(policy_id: &str) -> Value {
    json!({ "policy_id": policy_id, "holder": "Knoll", "premium": { "cents": 12_000, "currency": "EUR" } })
}
