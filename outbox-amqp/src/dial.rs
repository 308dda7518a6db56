//! A connection to the broker: where it goes, by which properties and certificates, and for how long one is waited for.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use lapin::tcp::OwnedTLSConfig;
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{Connection, ConnectionProperties, runtime};

use crate::builder::AmqpError;
use crate::certificates::Certificates;
use crate::hop;

/// How long connecting and declaring may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(15);
/// Seconds after which a broker that says nothing is asked, when the URL does not say.
const HEARTBEAT: u16 = 10;

/// What builders collect.
pub(crate) struct Dialling {
    url: String,
    pub(crate) properties: ConnectionProperties,
    pub(crate) certificates: Certificates,
}

/// What is needed to connect, again and again.
pub(crate) struct Dial {
    uri: AMQPUri,
    properties: ConnectionProperties,
    certificates: Certificates,
}

impl Dialling {
    /// `connection` is how the broker shows it.
    pub(crate) fn new(url: String, connection: &str) -> Self {
        let properties = ConnectionProperties::default().with_connection_name(connection.into());
        Self { url, properties, certificates: Certificates::default() }
    }

    pub(crate) fn authorities(&mut self, file: PathBuf) {
        self.certificates.authorities = Some(file);
    }

    pub(crate) fn certificate(&mut self, certificate: PathBuf, key: PathBuf) {
        self.certificates.own = Some((certificate, key));
    }

    pub(crate) fn tls(&mut self, tls: OwnedTLSConfig) {
        self.certificates.given = tls;
    }

    pub(crate) fn dial(self) -> Result<Dial, AmqpError> {
        let mut uri: AMQPUri = self.url.parse().map_err(|_| AmqpError::Url)?;
        if self.certificates.are_set() && uri.scheme != AMQPScheme::AMQPS {
            return Err(AmqpError::NoTls);
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        Ok(Dial { uri, properties: self.properties, certificates: self.certificates })
    }
}

impl Dial {
    pub(crate) async fn connect(&self) -> lapin::Result<Connection> {
        let (properties, tls) = (self.properties.clone(), self.certificates.read().await?);
        let runtime = runtime::default_runtime()?;
        Connection::connect_uri_with_config(self.uri.clone(), properties, tls, runtime).await
    }

    /// One over which everything that comes can be read.
    pub(crate) async fn connect_legibly(&self) -> lapin::Result<Connection> {
        hop::connect(self.uri.clone(), self.properties.clone(), self.certificates.read().await?).await
    }
}

/// Without the URL and the properties, which may hold a password.
impl fmt::Debug for Dialling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialling").finish_non_exhaustive()
    }
}
