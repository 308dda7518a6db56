//! The broker between the services.

use std::time::Duration;

use anyhow::bail;
use outbox_amqp::Amqp;
use outbox_nats::Nats;
use outbox_nats::async_nats::jetstream::stream;
use outbox_relay::{Confirmed, Link, NotConfirmed, Outgoing, Relay, Transport};

/// What stands in front of every subject and routing key: `fleet.policy.created.v1`.
pub const PREFIX: &str = "fleet";
/// The stream of NATS.
pub(crate) const STREAM: &str = "FLEET";
/// Within which NATS itself knows a message again. So short that duplicates do come, and are seen to be harmless.
const DUPLICATES: Duration = Duration::from_secs(1);

/// The way to the other services: each is told at its start which broker there is, by the scheme of the URL.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub enum Broker {
    /// NATS JetStream.
    Nats(Nats),
    /// RabbitMQ.
    Amqp(Amqp),
}

impl Broker {
    /// Begins to connect, and does not wait for it: a service starts while its broker is away.
    ///
    /// # Errors
    /// When the URL is none of a broker.
    pub async fn connect(url: &str) -> anyhow::Result<Self> {
        match url.split_once("://") {
            Some(("nats", _)) => {
                let subjects = vec![format!("{PREFIX}.>")];
                let stream = stream::Config {
                    name: STREAM.to_owned(),
                    subjects,
                    duplicate_window: DUPLICATES,
                    ..stream::Config::default()
                };
                Ok(Self::Nats(Nats::builder(url).declare(stream).connect().await?))
            }
            Some(("amqp" | "amqps", _)) => {
                let broker = Amqp::builder(url, PREFIX)
                    .queue("billing", [format!("{PREFIX}.policy.#")])
                    .queue("policy", [format!("{PREFIX}.invoice.#")]);
                Ok(Self::Amqp(broker.connect()?))
            }
            _ => bail!("the broker's URL begins with `nats://` or `amqp://`"),
        }
    }
}

/// Facts of `service` on their way to the broker. While it is away one message looks after it, every second at least.
///
/// # Errors
/// As [`Broker::connect`].
pub async fn relay(url: &str, service: &str) -> anyhow::Result<Relay<Broker>> {
    let relay = Relay::builder(Broker::connect(url).await?, format!("/{service}")).prefix(PREFIX);
    let relay = relay.pauses(Duration::from_millis(200), Duration::from_secs(1));
    Ok(relay.confirm_timeout(Duration::from_secs(3)).hold(Duration::from_secs(2)).build()?)
}

impl Transport for Broker {
    fn destination(&self) -> &str {
        match self {
            Self::Nats(nats) => nats.destination(),
            Self::Amqp(amqp) => amqp.destination(),
        }
    }

    async fn publish(&self, message: &Outgoing) -> Result<Confirmed, NotConfirmed> {
        match self {
            Self::Nats(nats) => nats.publish(message).await,
            Self::Amqp(amqp) => amqp.publish(message).await,
        }
    }

    fn link(&self) -> &Link {
        match self {
            Self::Nats(nats) => nats.link(),
            Self::Amqp(amqp) => amqp.link(),
        }
    }
}
