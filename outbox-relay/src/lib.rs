#![doc = include_str!("../README.md")]
//!
//! # The files
//!
//! | | |
//! |---|---|
//! | `transport` | what a broker's client must be able to do, and what it may answer; how long it has been away |
//! | `certificates` | what errors of TLS mean for whoever sets up a transport |
//! | `message`, `route` | an event as CloudEvents, and its subject or routing key |
//! | `circuit` | the rules of one destination, without clock and waiting |
//! | `relay`, `builder`, `status`, `meters` | one destination: who has a turn, what an answer means for the job, what can be seen |
//! | `forward` | the subscriber's side |
//! | `contract` | feature `testing`: what every transport keeps, as tests against a real server |

mod builder;
mod certificates;
mod circuit;
#[cfg(feature = "testing")]
pub mod contract;
mod forward;
mod message;
mod meters;
mod relay;
mod route;
mod status;
mod transport;

pub use self::{
    builder::{RelayBuilder, SettingError},
    certificates::what_to_do_about_certificates,
    circuit::CircuitState,
    forward::Relaying,
    message::{CONTENT_TYPE, Outgoing, header_value},
    relay::Relay,
    route::LONGEST_ROUTE,
    status::RelayStatus,
    transport::{Confirmed, Link, LinkStatus, NotConfirmed, Transport},
};

/// Declares the subscriber that sends events to a destination: its stored name, which events, over which transport.
///
/// ```
/// # mod shop {
/// # use outbox_relay::{Confirmed, Link, NotConfirmed, Outgoing, Transport};
/// # pub struct Nats(Link);
/// # impl Transport for Nats {
/// #     fn destination(&self) -> &str { "nats" }
/// #     fn link(&self) -> &Link { &self.0 }
/// #     async fn publish(&self, _: &Outgoing) -> Result<Confirmed, NotConfirmed> { Ok(Confirmed::new()) }
/// # }
/// outbox_relay::relay!("shop.relay", event = "order.*", transport = Nats);
/// # }
/// # fn main() {}
/// ```
///
/// What follows the transport are options of [`subscriber`](outbox::subscriber): `max_attempts = 12` for what a broker refuses. An outage is
/// charged to no attempt. Two relays of one transport type need two types: wrap one. How a relay is run is its own matter: `concurrency`,
/// `timeout` and `idempotent` are said already.
#[macro_export]
macro_rules! relay {
    ($name:tt, event = $event:tt, transport = $transport:ty $(, $($option:tt)*)?) => {
        const _: () = {
            // Four calls of a hundred events each: what is held while the broker is away keeps no more of a worker's slots than that.
            #[::outbox::subscriber(
                event = $event,
                name = $name,
                concurrency = 4,
                timeout = "60s",
                idempotent = "a message has the event's id, by which brokers and consumers know it",
                $($($option)*)?
            )]
            async fn relay(
                events: ::outbox::Batch<::std::sync::Arc<::outbox::Envelope>>,
                relaying: $crate::Relaying<$transport>,
            ) -> ::outbox::HandlerResult {
                relaying.forward(events).await;
                Ok(())
            }
        };
    };
    ($name:tt, events = $($rest:tt)*) => {
        ::core::compile_error!(
            "a relay has one `event`, which may be a pattern: write `relay!(\"shop.relay\", event = \"order.*\", transport = Nats)`, and a relay for \
             each other pattern"
        );
    };
    ($name:tt, event = $event:tt $(,)?) => {
        ::core::compile_error!(
            "a relay says over which transport it sends: write `relay!(\"shop.relay\", event = \"order.*\", transport = Nats)`, with \
             `outbox_nats::Nats`, `outbox_amqp::Amqp` or a type of yours"
        );
    };
    ($name:tt, transport = $($rest:tt)*) => {
        ::core::compile_error!(
            "a relay says which events before it says the transport: write `relay!(\"shop.relay\", event = \"order.*\", transport = Nats)`"
        );
    };
    ($($any:tt)*) => {
        ::core::compile_error!(
            "a relay is its stored name, which events, and over which transport, in this order: write \
             `relay!(\"shop.relay\", event = \"order.*\", transport = Nats)`"
        );
    };
}
