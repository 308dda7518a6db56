//! What comes over the broker for a service.

use std::time::Duration;

use anyhow::bail;
use outbox_amqp::AmqpSource;
use outbox_ingest::{Delivery, Ingest, Link, Source};
use outbox_nats::NatsSource;
use outbox_nats::async_nats::jetstream::consumer::pull;

use crate::broker::{PREFIX, STREAM};

/// After how long NATS delivers again what a service that was killed had in hand. (RabbitMQ sees that it is gone.)
const IN_HAND: Duration = Duration::from_secs(5);

/// Messages for one service, over whichever broker there is.
#[derive(Debug)]
pub enum Inbox {
    /// A durable consumer of JetStream.
    Nats(NatsSource),
    /// A queue of RabbitMQ.
    Amqp(AmqpSource),
}

/// Facts about `subjects` (`policy`) on their way to `service`: events of its own database, under the ids that they have, for the
/// subscribers that it has.
///
/// # Errors
/// When the URL is none of a broker.
pub async fn ingest(url: &str, service: &str, subjects: &str) -> anyhow::Result<Ingest<Inbox>> {
    let inbox = match url.split_once("://") {
        Some(("nats", _)) => {
            let filter_subject = format!("{PREFIX}.{subjects}.>");
            let consumer = pull::Config { filter_subject, ack_wait: IN_HAND, ..pull::Config::default() };
            Inbox::Nats(NatsSource::builder(url, STREAM, service).declare(consumer).connect().await?)
        }
        Some(("amqp" | "amqps", _)) => {
            let source = AmqpSource::builder(url, service).bind(PREFIX, [format!("{PREFIX}.{subjects}.#")]);
            Inbox::Amqp(source.connect()?)
        }
        _ => bail!("the broker's URL begins with `nats://` or `amqp://`"),
    };
    Ok(Ingest::builder(inbox).build()?)
}

impl Source for Inbox {
    fn name(&self) -> &str {
        match self {
            Self::Nats(nats) => nats.name(),
            Self::Amqp(amqp) => amqp.name(),
        }
    }

    async fn receive(&self, most: usize) -> Vec<Delivery> {
        match self {
            Self::Nats(nats) => nats.receive(most).await,
            Self::Amqp(amqp) => amqp.receive(most).await,
        }
    }

    fn link(&self) -> &Link {
        match self {
            Self::Nats(nats) => nats.link(),
            Self::Amqp(amqp) => amqp.link(),
        }
    }
}
