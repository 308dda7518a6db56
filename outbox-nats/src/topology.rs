//! The stream that takes the messages: declared, looked for, or somebody else's matter.

use std::time::Duration;

use async_nats::jetstream::context::Context;
use async_nats::jetstream::stream::Config;
use tokio::time::timeout;

/// How long the server may take to answer about a stream.
const LIMIT: Duration = Duration::from_secs(10);

/// What is done about the stream at each connection, before anything is published.
#[derive(Debug, Clone, Default)]
pub enum Topology {
    /// Nothing: messages that no stream takes are unroutable.
    #[default]
    Trust,
    /// The stream of this name must be there. While it is not, the destination counts as not reachable.
    Check(String),
    /// The stream is made when it is not there. One of this name that is there stays as it is.
    // Boxed, because it is much larger than the others.
    Declare(Box<Config>),
}

/// A stream that cannot be published to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// It is not there, or may not be made.
    #[error("the stream `{stream}`: {reason}; make it, or name another by `.check(..)`, or say `.declare(..)`")]
    Stream {
        /// Its name.
        stream: String,
        /// The server's words.
        reason: String,
    },
    /// Nothing would ever be confirmed.
    #[error("the stream `{0}` has `no_ack`, so nothing would ever be confirmed: take that off it")]
    NoAck(String),
    /// The server does not answer.
    #[error("the server did not answer about the stream `{0}` within {LIMIT:?}: is JetStream switched on there?")]
    Timeout(String),
}

impl Topology {
    fn stream(&self) -> Option<&str> {
        match self {
            Self::Trust => None,
            Self::Check(name) => Some(name),
            Self::Declare(config) => Some(&config.name),
        }
    }

    /// Sees to it.
    pub(crate) async fn ensure(&self, context: &Context) -> Result<(), TopologyError> {
        let Some(name) = self.stream() else { return Ok(()) };
        let stream = || name.to_owned();
        let found = timeout(LIMIT, self.find(context)).await.map_err(|_| TopologyError::Timeout(stream()))?;
        match found {
            Ok(config) if config.no_ack => Err(TopologyError::NoAck(stream())),
            Ok(_) => Ok(()),
            Err(reason) => Err(TopologyError::Stream { stream: stream(), reason }),
        }
    }

    async fn find(&self, context: &Context) -> Result<Config, String> {
        let stream = match self {
            Self::Trust => return Ok(Config::default()),
            Self::Check(name) => context.get_stream(name).await.map_err(|error| error.to_string())?,
            Self::Declare(config) => {
                context.get_or_create_stream(Config::clone(config)).await.map_err(|error| error.to_string())?
            }
        };
        Ok(stream.cached_info().config.clone())
    }
}
