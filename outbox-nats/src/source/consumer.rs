//! The durable consumer: declared, or looked for.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::Context;
use tokio::time::timeout;

/// How long the server may take to answer about all of it.
const LIMIT: Duration = Duration::from_secs(10);

/// Which consumer, and what is made when it is not there.
#[derive(Debug, Clone)]
pub(super) struct Consumer {
    pub(super) stream: String,
    pub(super) durable: String,
    pub(super) declared: Option<Box<pull::Config>>,
}

/// A consumer that cannot be consumed from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError {
    /// The stream is not there.
    #[error("the stream `{stream}`: {reason}; its producer makes it, or the name is another")]
    Stream {
        /// Its name.
        stream: String,
        /// The server's words.
        reason: String,
    },
    /// The consumer is not there, or may not be made.
    #[error("the consumer `{consumer}` of the stream `{stream}`: {reason}; make it, or say `.declare(..)`")]
    Consumer {
        /// The stream.
        stream: String,
        /// The consumer.
        consumer: String,
        /// The server's words.
        reason: String,
    },
    /// Messages would count as taken before they are stored.
    #[error("the consumer `{0}` does not have each message acknowledged by itself: its `ack_policy` must be explicit")]
    NotExplicit(String),
    /// Messages would be given up after some deliveries, and nobody would learn of it.
    #[error(
        "the consumer `{0}` gives a message up after {1} deliveries, which an outage can use up: take `max_deliver` off it"
    )]
    GivesUp(String, i64),
    /// The server does not answer.
    #[error("the server did not answer about the consumer `{0}` within {LIMIT:?}: is JetStream switched on there?")]
    Timeout(String),
}

impl Consumer {
    /// Finds it, or makes it.
    pub(super) async fn find(&self, context: &Context) -> Result<PullConsumer, ConsumerError> {
        let found = timeout(LIMIT, self.look(context)).await;
        let consumer = found.unwrap_or_else(|_| Err(ConsumerError::Timeout(self.durable.clone())))?;
        let config = &consumer.cached_info().config;
        if config.ack_policy != AckPolicy::Explicit {
            return Err(ConsumerError::NotExplicit(self.durable.clone()));
        }
        if config.max_deliver > 0 {
            return Err(ConsumerError::GivesUp(self.durable.clone(), config.max_deliver));
        }
        Ok(consumer)
    }

    async fn look(&self, context: &Context) -> Result<PullConsumer, ConsumerError> {
        let stream = context
            .get_stream(&self.stream)
            .await
            .map_err(|error| ConsumerError::Stream { stream: self.stream.clone(), reason: error.to_string() })?;
        let found = match &self.declared {
            None => stream.get_consumer(&self.durable).await.map_err(|error| error.to_string()),
            Some(config) => {
                let config = pull::Config {
                    durable_name: Some(self.durable.clone()),
                    ack_policy: AckPolicy::Explicit,
                    ..pull::Config::clone(config)
                };
                stream.get_or_create_consumer(&self.durable, config).await.map_err(|error| error.to_string())
            }
        };
        found.map_err(|reason| ConsumerError::Consumer {
            stream: self.stream.clone(),
            consumer: self.durable.clone(),
            reason,
        })
    }
}
