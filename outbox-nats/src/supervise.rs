//! The connection's ups and downs, measured; the stream, looked after at each connection.

use std::time::Duration;

use async_nats::Event;
use async_nats::jetstream::context::Context;
use outbox_relay::{Link, what_to_do_about_certificates};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

use crate::inquiry::Inquiry;
use crate::topology::Topology;

/// How long a stream that is not as it should be is left alone.
const PAUSE: Duration = Duration::from_secs(2);

/// Follows the client's events until it is aborted. The link is up while there is a connection and the stream is there.
pub(crate) async fn supervise(
    name: String,
    context: Context,
    topology: Topology,
    link: Link,
    mut events: UnboundedReceiver<Event>,
    mut inquiry: Inquiry,
) {
    while let Some(event) = events.recv().await {
        let mut next = Some(event);
        while let Some(event) = next.take() {
            match event {
                Event::Connected => next = connected(&name, &context, &topology, &link, &mut events).await,
                Event::Disconnected | Event::Closed => {
                    tracing::warn!(destination = name, "the connection is lost");
                    link.disconnected(None);
                }
                // As when a subject may not be published to, of which no other word comes.
                Event::ServerError(error) => heard(&name, &link, error.to_string()),
                Event::ClientError(error) if inquiry.asks_about(&error) => {}
                Event::ClientError(error) => heard(&name, &link, error.to_string()),
                Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {}
            }
        }
    }
}

/// Sees to the stream until it is as it should be, or until something happens, which it answers.
async fn connected(
    name: &str,
    context: &Context,
    topology: &Topology,
    link: &Link,
    events: &mut UnboundedReceiver<Event>,
) -> Option<Event> {
    loop {
        tokio::select! {
            biased;
            event = events.recv() => return event,
            ensured = topology.ensure(context) => match ensured {
                Ok(()) => {
                    tracing::info!(destination = name, "connected");
                    link.connected();
                    return None;
                }
                Err(error) => {
                    tracing::error!(destination = name, %error, "nothing is published");
                    link.disconnected(error.to_string());
                }
            },
        }
        tokio::select! {
            biased;
            event = events.recv() => return event,
            () = sleep(PAUSE) => {}
        }
    }
}

fn heard(name: &str, link: &Link, error: String) {
    let error = what_to_do_about_certificates(error);
    tracing::warn!(destination = name, error, "the broker's connection");
    link.heard(error);
}
