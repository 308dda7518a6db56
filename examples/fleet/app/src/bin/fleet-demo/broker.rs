//! The broker between the services: a server of this run's own, which can be stopped and started again.

mod nats;
mod rabbit;

use std::time::Duration;

use crate::arguments::Kind;

use self::nats::NatsServer;
use self::rabbit::RabbitNode;

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(90);

/// A message that no relay has sent.
#[derive(Debug)]
pub(crate) struct ByHand<'a> {
    /// Subject or routing key.
    pub(crate) route: &'a str,
    /// Attributes of CloudEvents.
    pub(crate) attributes: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

pub(crate) enum BrokerServer {
    Nats(NatsServer),
    Rabbit(RabbitNode),
}

impl BrokerServer {
    pub(crate) async fn start(kind: Kind) -> anyhow::Result<Self> {
        Ok(match kind {
            Kind::Nats => Self::Nats(NatsServer::start().await?),
            Kind::Rabbitmq => Self::Rabbit(RabbitNode::start().await?),
        })
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Nats(server) => server.url(),
            Self::Rabbit(node) => node.url(),
        }
    }

    /// Ends it, as an operator does. What it has confirmed is on its disk.
    pub(crate) async fn stop(&mut self) {
        match self {
            Self::Nats(server) => server.stop().await,
            Self::Rabbit(node) => node.stop().await,
        }
    }

    pub(crate) async fn start_again(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Nats(server) => server.start_again().await,
            Self::Rabbit(node) => node.start_again().await,
        }
    }

    /// Puts a message into it, past all services.
    pub(crate) async fn put(&self, message: &ByHand<'_>) -> anyhow::Result<()> {
        match self {
            Self::Nats(server) => server.put(message).await,
            Self::Rabbit(node) => node.put(message).await,
        }
    }
}
