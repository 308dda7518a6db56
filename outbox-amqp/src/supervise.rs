//! The connection's ups and downs, measured; the topology, looked after at each connection.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lapin::tcp::OwnedTLSConfig;
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties, Event, runtime};
use outbox_relay::Link;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::session::Session;
use crate::topology::Topology;

/// How long connecting and declaring may take.
const LIMIT: Duration = Duration::from_secs(15);
/// The pauses between two attempts to connect.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// How often a connection that says nothing is looked at.
const GLANCE: Duration = Duration::from_secs(1);

/// What is needed to connect.
pub(crate) struct Dial {
    pub(crate) name: String,
    pub(crate) uri: AMQPUri,
    pub(crate) properties: ConnectionProperties,
    pub(crate) tls: OwnedTLSConfig,
    pub(crate) topology: Topology,
    pub(crate) channels: usize,
}

/// Connects, again and again, until it is aborted.
pub(crate) async fn supervise(dial: Dial, link: Link, sessions: watch::Sender<Option<Arc<Session>>>) {
    let mut pause = SHORTEST;
    loop {
        let why = match timeout(LIMIT, dial.open()).await {
            Ok(Ok(session)) => {
                pause = SHORTEST;
                let session = Arc::new(session);
                sessions.send_replace(Some(Arc::clone(&session)));
                link.connected();
                tracing::info!(destination = dial.name, "connected");
                let why = session.lost(&dial.name, &link).await;
                sessions.send_replace(None);
                why
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no connection within {LIMIT:?}"),
        };
        tracing::warn!(destination = dial.name, why, "there is no connection");
        link.disconnected(why);
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    }
}

impl Dial {
    async fn open(&self) -> lapin::Result<Session> {
        let (properties, tls) = (self.properties.clone(), self.tls.clone());
        let runtime = runtime::default_runtime()?;
        let connection = Connection::connect_uri_with_config(self.uri.clone(), properties, tls, runtime).await?;
        self.topology.ensure(&connection).await?;
        Ok(Session::new(connection, self.topology.exchange.clone(), self.channels))
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
