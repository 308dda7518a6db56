//! Somebody who gets webhooks.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use outbox_testing::eventually;
use outbox_webhooks::{Secret, Verifier};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A receiver that believes what is signed with its secret, and answers as it is told.
pub(crate) struct Receiver {
    pub(crate) url: String,
    desk: Arc<Mutex<Desk>>,
    serving: JoinHandle<()>,
}

struct Desk {
    verifier: Verifier,
    answer: StatusCode,
    taken: Vec<(String, Value)>,
}

impl Receiver {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let desk = Desk { verifier: Verifier::new([]), answer: StatusCode::NO_CONTENT, taken: Vec::new() };
        let desk = Arc::new(Mutex::new(desk));
        let router = Router::new().route("/", post(receive)).with_state(Arc::clone(&desk));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, desk, serving }
    }

    /// From now on it believes who has this secret.
    pub(crate) fn believe(&self, secret: &Value) {
        let secret: Secret = secret.as_str().unwrap().parse().unwrap();
        self.desk.lock().unwrap().verifier = Verifier::new([secret]);
    }

    /// From now on it answers this to what it believes.
    pub(crate) fn answer(&self, status: StatusCode) {
        self.desk.lock().unwrap().answer = status;
    }

    /// What it has taken: id and message.
    pub(crate) fn taken(&self) -> Vec<(String, Value)> {
        self.desk.lock().unwrap().taken.clone()
    }

    /// Waits until it has taken something of this kind.
    pub(crate) async fn until(&self, kind: &str) -> (String, Value) {
        eventually(kind, async || self.taken().into_iter().find(|(_, message)| message["type"] == kind)).await
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn receive(State(desk): State<Arc<Mutex<Desk>>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut desk = desk.lock().unwrap();
    let Ok(signed) = desk.verifier.verify(header, &body) else { return StatusCode::UNAUTHORIZED };
    if desk.answer.is_success() {
        desk.taken.push((signed.id, serde_json::from_slice(&body).unwrap()));
    }
    desk.answer
}
