//! The connection's ups and downs, measured; the topology, looked after at each connection.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lapin::Event;
use outbox_relay::{Link, what_to_do_about_certificates};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::dial::{Dial, LIMIT};
use crate::pause::Pause;
use crate::queue::Queue;
use crate::session::Session;
use crate::topology::Topology;

/// How often a connection that says nothing is looked at.
const GLANCE: Duration = Duration::from_secs(1);

/// What is needed to publish.
pub(crate) struct Publishing {
    pub(crate) name: String,
    pub(crate) dial: Dial,
    pub(crate) topology: Topology,
    pub(crate) channels: usize,
}

/// Connects, again and again, until it is aborted.
pub(crate) async fn supervise(publishing: Publishing, link: Link, sessions: watch::Sender<Option<Arc<Session>>>) {
    let _ended = Ended(&link);
    let mut pause = Pause::new();
    loop {
        let (why, stood) = match timeout(LIMIT, publishing.open()).await {
            Ok(Ok((session, queue))) => {
                pause.connected();
                let session = Arc::new(session);
                let mut serving = pin!(session.serve(queue));
                sessions.send_replace(Some(Arc::clone(&session)));
                link.connected();
                tracing::info!(destination = publishing.name, "connected");
                let why = tokio::select! {
                    why = session.lost(&publishing.name, &link) => why,
                    () = &mut serving => "its channels have ended".to_owned(),
                };
                sessions.send_replace(None);
                // Before the groups under way are dropped: who waits for one of them asks the link why.
                link.disconnected(why.clone());
                (why, true)
            }
            Ok(Err(error)) => (what_to_do_about_certificates(error.to_string()), false),
            Err(_) => (format!("no connection within {LIMIT:?}"), false),
        };
        tracing::warn!(destination = publishing.name, why, "there is no connection");
        link.disconnected(why);
        sleep(pause.next(stood)).await;
    }
}

/// However this task ends, nobody is told of a connection that nobody looks after.
struct Ended<'l>(&'l Link);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.disconnected("what looked after the connection has ended".to_owned());
    }
}

impl Publishing {
    async fn open(&self) -> lapin::Result<(Session, Queue)> {
        let connection = self.dial.connect().await?;
        self.topology.ensure(&connection).await?;
        Ok(Session::new(connection, &self.topology.exchange, self.channels))
    }
}

impl Session {
    /// Waits until the connection is lost; why. While the broker blocks it, the link is down.
    async fn lost(&self, name: &str, link: &Link) -> String {
        let mut events = std::pin::pin!(self.connection.events_listener());
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Event::ConnectionBlocked(why)) => {
                        tracing::warn!(destination = name, why, "the broker blocks publishers");
                        link.disconnected(format!("the broker blocks publishers: {why}"));
                    }
                    Some(Event::ConnectionUnblocked) => link.connected(),
                    // That of a channel is its message's.
                    Some(Event::Error(error)) if !error.is_amqp_soft_error() => return error.to_string(),
                    Some(_) => {}
                    None => return "the connection has ended".to_owned(),
                },
                () = self.stale.notified() => return "the exchange is not there, or the connection is not any more".to_owned(),
                () = sleep(GLANCE) => {
                    if !self.connection.status().connected() {
                        return "the connection is lost".to_owned();
                    }
                }
            }
        }
    }
}
