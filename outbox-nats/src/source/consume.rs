//! Consuming, supervised: the connection's ups and downs, the consumer found at each, and a stream of its messages while it lasts.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::context::Context;
use futures_util::StreamExt as _;
use outbox_ingest::Delivery;
use outbox_relay::Link;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::consumer::Consumer;
use super::message::delivery;
use crate::telling::{Pauses, Telling};

/// The server says so often that there is nothing: one that is silent for twice as long is not there.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long one request for messages stands.
const EXPIRES: Duration = Duration::from_secs(30);

/// What the client says of its connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) is_up: bool,
    /// How many there were.
    pub(super) connections: u64,
}

pub(super) struct Consuming {
    pub(super) name: String,
    /// Host and port of the servers.
    pub(super) servers: String,
    pub(super) client: Client,
    pub(super) context: Context,
    pub(super) consumer: Consumer,
    pub(super) ahead: usize,
    pub(super) link: Link,
    pub(super) stands: watch::Receiver<Standing>,
    pub(super) deliveries: mpsc::Sender<Delivery>,
}

impl Consuming {
    /// Until it is aborted, or nobody receives.
    pub(super) async fn run(mut self) {
        let (mut telling, mut pauses) = (Telling::default(), Pauses::default());
        while !self.deliveries.is_closed() {
            let Ok(standing) = self.stands.wait_for(|standing| standing.is_up).await.map(|standing| *standing) else {
                return;
            };
            let ended = tokio::select! {
                biased;
                () = gone(self.stands.clone(), standing) => "the connection is lost".to_owned(),
                why = self.consume() => why,
            };
            if self.link.is_up() {
                // It was consumed from until now, so this is another matter than the last one.
                telling.ended();
                pauses.ended();
            }
            if telling.is_due(&ended, Instant::now()) {
                tracing::warn!(
                    source = self.name,
                    servers = self.servers,
                    why = ended,
                    "nothing is consumed; it is tried again and again"
                );
            }
            self.link.disconnected(ended);
            // A connection that is lost is waited for above; anything else is looked at again in a moment, up to half of it later by chance.
            let pause = pauses.next().mul_f64(1.0 + rand::random::<f64>() / 2.0);
            if self.stands.borrow().is_up {
                sleep(pause).await;
            }
        }
    }

    /// Consumes over this connection for as long as that goes well; then says why not.
    async fn consume(&self) -> String {
        let mut messages = match self.open().await {
            Ok(messages) => messages,
            Err(why) => return why,
        };
        tracing::info!(source = self.name, servers = self.servers, "consuming");
        self.link.connected();
        loop {
            match messages.next().await {
                Some(Ok(message)) => {
                    let delivery = delivery(message, self.client.clone(), self.link.clone());
                    if self.deliveries.send(delivery).await.is_err() {
                        return "nobody receives".to_owned();
                    }
                }
                Some(Err(error)) => return error.to_string(),
                None => return "the stream of messages ended".to_owned(),
            }
        }
    }

    async fn open(&self) -> Result<pull::Stream, String> {
        let consumer = self.consumer.find(&self.context).await.map_err(|error| error.to_string())?;
        let stream = consumer.stream().max_messages_per_batch(self.ahead).heartbeat(HEARTBEAT).expires(EXPIRES);
        stream.messages().await.map_err(|error| error.to_string())
    }
}

/// Until the connection is another one, or none.
async fn gone(mut stands: watch::Receiver<Standing>, this: Standing) {
    // Its sender lives in the client, which lives as long as the task.
    let _ = stands.wait_for(|standing| *standing != this).await;
}
