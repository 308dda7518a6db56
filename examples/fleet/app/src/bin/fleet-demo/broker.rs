//! The broker between the services: a server of this run's own, which can be stopped and started again.

mod by_hand;

pub(crate) use self::by_hand::ByHand;

use outbox_relay::contract::{NatsServer, RabbitServer};

use crate::arguments::Kind;

pub(crate) enum BrokerServer {
    Nats(NatsServer),
    Rabbit(RabbitServer),
}

impl BrokerServer {
    pub(crate) async fn start(kind: Kind) -> Self {
        match kind {
            Kind::Nats => Self::Nats(NatsServer::start(&[]).await),
            Kind::Rabbitmq => Self::Rabbit(RabbitServer::start("").await),
        }
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Nats(server) => format!("nats://{}", server.address()),
            Self::Rabbit(server) => server.url(),
        }
    }

    /// Ends it, as an operator does. What it has confirmed is on its disk.
    pub(crate) async fn stop(&mut self) {
        match self {
            Self::Nats(server) => server.stop().await,
            Self::Rabbit(server) => server.stop().await,
        }
    }

    pub(crate) async fn start_again(&mut self) {
        match self {
            Self::Nats(server) => server.restart().await,
            Self::Rabbit(server) => server.restart().await,
        }
    }

    /// Puts a message into it, past all services.
    pub(crate) async fn put(&self, message: &ByHand<'_>) -> anyhow::Result<()> {
        match self {
            Self::Nats(_) => message.to_nats(&self.url()).await,
            Self::Rabbit(_) => message.to_rabbitmq(&self.url()).await,
        }
    }
}
