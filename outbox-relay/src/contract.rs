//! What every transport keeps, tested against a real server: the contract of [`Transport`].
//!
//! A crate with a transport says how its server is started and read back, by [`Broker`], and has
//! [`contract!`](crate::contract!) write one test for each clause:
//!
//! ```text
//! outbox_relay::contract!(RabbitMq);
//! ```
//!
//! The clauses about TLS are those of [`secure_contract!`](crate::secure_contract!), of a [`SecureBroker`].

#![allow(clippy::missing_panics_doc, reason = "a clause that is not kept panics: that is what it is for")]

mod broker;
mod certificates;
mod faults;
mod nats_server;
mod process;
mod proxy;
mod rabbit_server;
mod secure;
mod stored;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox::{Envelope, EventId, Metadata, Payload, Subject};
use tokio::time::timeout;
use uuid::Uuid;

use crate::message::Outgoing;
use crate::route::Routing;
use crate::transport::{Confirmed, NotConfirmed, Transport};

pub use self::{
    broker::{Broker, Stored},
    certificates::Certificates,
    faults::{
        a_confirm_that_is_lost_is_none_and_the_id_stays, a_frozen_server_confirms_nothing_and_is_used_again,
        a_killed_server_is_unreachable_and_comes_back, it_begins_without_a_server,
    },
    nats_server::NatsServer,
    process::{ServerProcess, find_program, free_port},
    proxy::Proxy,
    rabbit_server::RabbitServer,
    secure::{
        SecureBroker, a_server_of_an_unknown_authority_is_refused_until_its_file_is_there,
        a_server_that_asks_for_a_certificate_is_shown_it,
    },
    stored::{
        an_id_that_comes_twice_is_confirmed_twice, many_at_once_are_each_confirmed,
        messages_one_after_another_keep_their_order, payload_and_attributes_arrive_intact, what_is_confirmed_is_stored,
        what_is_too_large_is_unsendable_and_others_pass, what_nothing_takes_is_a_failure_until_something_does,
    },
};

/// Long enough for a busy machine and a server that starts.
pub const PATIENCE: Duration = Duration::from_mins(2);
/// Where the messages of these tests go, `PREFIX.order.placed.v1`, and what the broker must take.
pub const PREFIX: &str = "contract";
/// Where nothing takes them before [`Broker::take_elsewhere`].
pub const ELSEWHERE: &str = "elsewhere";
/// How long is waited for an answer that is not to come.
const SILENCE: Duration = Duration::from_secs(2);

/// A message of these tests.
fn message(payload: &str) -> Outgoing {
    message_to(PREFIX, payload)
}

/// A message under an id of its own to `prefix.order.placed.v1`, for tests of what a transport keeps beside the contract.
#[must_use]
pub fn message_to(prefix: &str, payload: &str) -> Outgoing {
    outgoing(prefix, &envelope(Metadata::new(), payload))
}

fn outgoing(prefix: &str, envelope: &Envelope) -> Outgoing {
    let routing = Routing { prefix: prefix.to_owned(), by_subject: false };
    Outgoing::of(&Arc::new(envelope.clone()), &"/contract".into(), &routing)
        .expect("a message of the contract can be sent")
}

/// The next event, under an id of its own.
fn envelope(metadata: Metadata, payload: &str) -> Envelope {
    Envelope {
        id: EventId::from(Uuid::new_v4()),
        name: "order.placed".to_owned(),
        version: 1,
        occurred_at: DateTime::<Utc>::UNIX_EPOCH,
        subject: Subject { kind: "order".to_owned(), id: Some("4711".to_owned()) },
        metadata,
        payload: Payload::from_json(payload),
    }
}

/// Publishes, and waits with patience.
async fn publish(transport: &impl Transport, message: &Outgoing) -> Result<Confirmed, NotConfirmed> {
    timeout(PATIENCE, transport.publish(message)).await.expect("a publish that hangs breaks the contract")
}

/// Publishes until the message is confirmed, as a relay does behind an outage.
async fn publish_at_last(transport: &impl Transport, message: &Outgoing) -> Confirmed {
    let confirmed = async {
        loop {
            match timeout(SILENCE, transport.publish(message)).await {
                Ok(Ok(confirmed)) => return confirmed,
                Ok(Err(NotConfirmed::Unreachable(_) | NotConfirmed::NoAnswer(_))) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok(Err(other)) => panic!("an outage is no failure of a message: {other}"),
                Err(_) => {}
            }
        }
    };
    timeout(PATIENCE, confirmed).await.expect("the transport connects again")
}

/// A transport that is connected.
async fn connected<B: Broker>(broker: &B) -> B::Transport {
    let transport = broker.transport(broker.address()).await;
    timeout(PATIENCE, transport.link().up()).await.expect("the transport connects");
    transport
}

/// How often each id is stored.
async fn times<B: Broker>(broker: &B) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for stored in broker.stored().await {
        *times.entry(stored.id).or_default() += 1;
    }
    times
}

/// Writes a test for each clause of the contract, of a [`Broker`](crate::contract::Broker).
#[macro_export]
macro_rules! contract {
    ($broker:ty) => {
        $crate::contract!(@ $broker:
            what_is_confirmed_is_stored,
            payload_and_attributes_arrive_intact,
            what_nothing_takes_is_a_failure_until_something_does,
            what_is_too_large_is_unsendable_and_others_pass,
            an_id_that_comes_twice_is_confirmed_twice,
            messages_one_after_another_keep_their_order,
            many_at_once_are_each_confirmed,
            a_killed_server_is_unreachable_and_comes_back,
            a_frozen_server_confirms_nothing_and_is_used_again,
            a_confirm_that_is_lost_is_none_and_the_id_stays,
            it_begins_without_a_server,
        );
    };
    (@ $broker:ty: $($clause:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $clause() {
                $crate::contract::$clause::<$broker>().await;
            }
        )*
    };
}
