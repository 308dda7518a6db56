//! The connection's ups and downs, measured; the stream, looked after at each connection.

use async_nats::Event;
use async_nats::jetstream::context::Context;
use outbox_relay::{Link, what_to_do_about_certificates};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};

use crate::inquiry::Inquiry;
use crate::telling::{Pauses, Telling};
use crate::topology::Topology;

/// A transport's connection, while it lives.
pub(crate) struct Supervised {
    pub(crate) name: String,
    /// Host and port of the servers.
    pub(crate) servers: String,
    pub(crate) context: Context,
    pub(crate) topology: Topology,
    pub(crate) link: Link,
    pub(crate) inquiry: Inquiry,
}

impl Supervised {
    /// Follows the client's events until it is aborted. The link is up while there is a connection and the stream is there.
    pub(crate) async fn run(mut self, mut events: UnboundedReceiver<Event>) {
        let (mut stream, mut errors) = (Telling::default(), Telling::default());
        while let Some(event) = events.recv().await {
            let mut next = Some(event);
            while let Some(event) = next.take() {
                match event {
                    Event::Connected => {
                        self.inquiry.ended();
                        errors.ended();
                        next = self.connected(&mut events, &mut stream).await;
                    }
                    Event::Disconnected | Event::Closed => {
                        tracing::warn!(
                            destination = self.name,
                            servers = self.servers,
                            "the connection to NATS is lost"
                        );
                        self.link.disconnected(None);
                    }
                    // As when a subject may not be published to, of which no other word comes.
                    Event::ServerError(error) => self.heard(error.to_string(), &mut errors),
                    Event::ClientError(error) if self.inquiry.asks_about(&error) => {}
                    Event::ClientError(error) => self.heard(error.to_string(), &mut errors),
                    Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {}
                }
            }
        }
    }

    /// Sees to the stream until it is as it should be, or until something happens, which it answers.
    async fn connected(&self, events: &mut UnboundedReceiver<Event>, stream: &mut Telling) -> Option<Event> {
        let mut pauses = Pauses::default();
        loop {
            tokio::select! {
                biased;
                event = events.recv() => return event,
                ensured = self.topology.ensure(&self.context) => match ensured {
                    Ok(()) => {
                        tracing::info!(destination = self.name, servers = self.servers, "connected to NATS");
                        stream.ended();
                        self.link.connected();
                        return None;
                    }
                    Err(error) => {
                        let error = error.to_string();
                        if stream.is_due(&error, Instant::now()) {
                            tracing::error!(
                                destination = self.name, servers = self.servers, error,
                                "nothing is published before the stream is as it should be; it is looked at again and again"
                            );
                        }
                        self.link.disconnected(error);
                    }
                },
            }
            tokio::select! {
                biased;
                event = events.recv() => return event,
                () = sleep(pauses.next()) => {}
            }
        }
    }

    fn heard(&self, error: String, errors: &mut Telling) {
        let error = what_to_do_about_certificates(error);
        if errors.is_due(&error, Instant::now()) {
            tracing::warn!(
                destination = self.name,
                servers = self.servers,
                error,
                "an error of the connection to NATS"
            );
        }
        self.link.heard(error);
    }
}
