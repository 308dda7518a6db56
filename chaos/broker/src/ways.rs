//! One type for both brokers, in each direction, so that a service has one relay and one ingest.

use std::net::SocketAddr;
use std::time::Duration;

use clap::ValueEnum;
use outbox_amqp::{Amqp, AmqpSource};
use outbox_ingest::{Delivery, Source};
use outbox_nats::async_nats::jetstream::consumer::pull;
use outbox_nats::async_nats::jetstream::stream::Config;
use outbox_nats::{Nats, NatsSource};
use outbox_relay::{Confirmed, Link, NotConfirmed, Outgoing, Transport};

/// Which broker is between the services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Broker {
    /// NATS JetStream: a stream on disk, and a durable consumer.
    Nats,
    /// RabbitMQ: a quorum queue.
    Rabbitmq,
}

const STREAM: &str = "CHAOS";
const EXCHANGE: &str = "chaos";
const QUEUE: &str = "chaos.receiver";
/// In front of every route.
pub const PREFIX: &str = "chaos";

fn stream() -> Config {
    Config { name: STREAM.to_owned(), subjects: vec![format!("{PREFIX}.>")], ..Config::default() }
}

fn amqp(address: SocketAddr) -> String {
    format!("amqp://guest:guest@{address}/%2f?heartbeat=2")
}

/// Out.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a process has one of it")]
pub enum Way {
    /// To NATS.
    Nats(Nats),
    /// To RabbitMQ.
    Rabbitmq(Amqp),
}

impl Way {
    /// To the broker at this address.
    ///
    /// # Errors
    /// When there can be no such transport.
    pub async fn to(broker: Broker, address: SocketAddr) -> anyhow::Result<Self> {
        Ok(match broker {
            Broker::Nats => Self::Nats(Nats::builder(format!("nats://{address}")).declare(stream()).connect().await?),
            Broker::Rabbitmq => {
                let builder = Amqp::builder(amqp(address), EXCHANGE).queue(QUEUE, [format!("{PREFIX}.#")]);
                Self::Rabbitmq(builder.connect()?)
            }
        })
    }
}

impl Transport for Way {
    fn destination(&self) -> &str {
        match self {
            Self::Nats(nats) => nats.destination(),
            Self::Rabbitmq(amqp) => amqp.destination(),
        }
    }

    async fn publish(&self, message: &Outgoing) -> Result<Confirmed, NotConfirmed> {
        match self {
            Self::Nats(nats) => nats.publish(message).await,
            Self::Rabbitmq(amqp) => amqp.publish(message).await,
        }
    }

    fn link(&self) -> &Link {
        match self {
            Self::Nats(nats) => nats.link(),
            Self::Rabbitmq(amqp) => amqp.link(),
        }
    }
}

/// In.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a process has one of it")]
pub enum From {
    /// From NATS.
    Nats(NatsSource),
    /// From RabbitMQ.
    Rabbitmq(AmqpSource),
}

impl From {
    /// From the broker at this address.
    ///
    /// # Errors
    /// When there can be no such source.
    pub async fn the(broker: Broker, address: SocketAddr) -> anyhow::Result<Self> {
        Ok(match broker {
            Broker::Nats => {
                // Soon again, when a receiver that had it was killed.
                let config = pull::Config { ack_wait: Duration::from_secs(4), ..pull::Config::default() };
                let builder = NatsSource::builder(format!("nats://{address}"), STREAM, "receiver");
                Self::Nats(builder.declare(config).connect().await?)
            }
            Broker::Rabbitmq => {
                let builder = AmqpSource::builder(amqp(address), QUEUE).bind(EXCHANGE, [format!("{PREFIX}.#")]);
                Self::Rabbitmq(builder.prefetch(50).connect()?)
            }
        })
    }
}

impl Source for From {
    fn name(&self) -> &str {
        match self {
            Self::Nats(nats) => nats.name(),
            Self::Rabbitmq(amqp) => amqp.name(),
        }
    }

    async fn receive(&self, most: usize) -> Vec<Delivery> {
        match self {
            Self::Nats(nats) => nats.receive(most).await,
            Self::Rabbitmq(amqp) => amqp.receive(most).await,
        }
    }

    fn link(&self) -> &Link {
        match self {
            Self::Nats(nats) => nats.link(),
            Self::Rabbitmq(amqp) => amqp.link(),
        }
    }
}
