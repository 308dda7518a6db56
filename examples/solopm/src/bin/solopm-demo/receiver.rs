//! Somebody who gets the webhooks, believes those that are signed, and tells of them.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use outbox_webhooks::{Secret, Verifier};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A receiver on a port of its own. It ends with the handle.
#[derive(Debug)]
pub(crate) struct Receiver {
    url: String,
    verifier: Arc<OnceLock<Verifier>>,
    serving: JoinHandle<()>,
}

impl Receiver {
    pub(crate) async fn open() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let verifier = Arc::<OnceLock<Verifier>>::default();
        let router = Router::new().route("/", post(receive)).with_state(Arc::clone(&verifier));
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                eprintln!("the receiver of webhooks ended: {error}");
            }
        });
        Ok(Self { url, verifier, serving })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// From now on it believes who has this secret.
    pub(crate) fn believe(&self, secret: Secret) {
        // Said once; a second one would be no receiver's.
        let _ = self.verifier.set(Verifier::new([secret]));
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(Deserialize)]
struct Message {
    r#type: String,
}

async fn receive(State(verifier): State<Arc<OnceLock<Verifier>>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let signed = verifier.get().and_then(|verifier| verifier.verify(header, &body).ok());
    let (Some(signed), Ok(message)) = (signed, serde_json::from_slice::<Message>(&body)) else {
        return StatusCode::UNAUTHORIZED;
    };
    println!("webhook {}: {}", signed.id, message.r#type);
    StatusCode::NO_CONTENT
}
