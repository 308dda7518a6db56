//! What a broker has to do for the measurement.

use std::future::Future;

use outbox_amqp::Amqp;
use outbox_nats::Nats;
use outbox_relay::{Confirmed, Link, NotConfirmed, Outgoing, Transport};

use crate::messages::Message;

/// A broker that was started for this run.
pub(crate) trait Side: Sync {
    /// Its name.
    fn broker(&self) -> &'static str;

    /// Nothing is stored any more.
    fn renew(&self) -> impl Future<Output = anyhow::Result<()>> + Send;

    /// Publishes all of them by the broker's client itself, on one connection, each with a confirm, as many under way as the relay lets. Seconds
    /// from the first message to the last confirm.
    fn publish_from_memory(&self, messages: Vec<Message>) -> impl Future<Output = anyhow::Result<f64>> + Send;

    /// A transport that is connected.
    fn transport(&self) -> impl Future<Output = anyhow::Result<Way>> + Send;

    /// Waits until so many are stored, and no more.
    fn until_stored(&self, count: u32) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// What the relay goes over. One type, because a program's events go to each relay that it links.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a process has one of it")]
pub(crate) enum Way {
    Nats(Nats),
    Rabbit(Amqp),
}

impl Transport for Way {
    fn destination(&self) -> &str {
        match self {
            Self::Nats(nats) => nats.destination(),
            Self::Rabbit(amqp) => amqp.destination(),
        }
    }

    async fn publish(&self, message: &Outgoing) -> Result<Confirmed, NotConfirmed> {
        match self {
            Self::Nats(nats) => nats.publish(message).await,
            Self::Rabbit(amqp) => amqp.publish(message).await,
        }
    }

    fn link(&self) -> &Link {
        match self {
            Self::Nats(nats) => nats.link(),
            Self::Rabbit(amqp) => amqp.link(),
        }
    }
}
