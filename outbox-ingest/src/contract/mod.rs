//! What every source keeps, tested against a real server: the contract of [`Source`].
//!
//! A crate with a source says how its server is started and published to, by [`Origin`], and has
//! [`contract!`](crate::contract!) write one test for each clause:
//!
//! ```text
//! outbox_ingest::contract!(RabbitMq);
//! ```

#![allow(clippy::missing_panics_doc, reason = "a clause that is not kept panics: that is what it is for")]

mod faults;
mod messages;
mod origin;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::timeout;
use uuid::Uuid;

pub use outbox_relay::contract::{PATIENCE, Proxy, ServerProcess, find_program, free_port};

pub use self::{
    faults::{
        a_connection_that_is_cut_is_made_again, a_frozen_server_is_noticed_and_consumed_from_again,
        a_killed_server_is_noticed_and_consumed_from_again, it_begins_without_a_server,
        what_a_process_that_ended_held_comes_again,
    },
    messages::{
        a_header_that_is_no_text_is_delivered_as_that, many_arrive_and_no_more_at_once_than_asked_for,
        receiving_that_is_dropped_loses_nothing, what_is_acknowledged_does_not_come_again,
        what_is_given_back_comes_again, what_was_published_arrives_intact,
    },
    origin::{Origin, Published},
};
use crate::delivery::{Delivery, Value};
use crate::source::Source;

/// A source that consumes.
async fn consuming<O: Origin>(origin: &O) -> O::Source {
    let source = origin.source(origin.address()).await;
    up(&source).await;
    source
}

async fn up(source: &impl Source) {
    timeout(PATIENCE, source.link().up()).await.unwrap_or_else(|_| panic!("it consumes: {:?}", source.link()));
}

async fn down(source: &impl Source) {
    timeout(PATIENCE, source.link().down())
        .await
        .unwrap_or_else(|_| panic!("its loss is noticed: {:?}", source.link()));
}

/// Receives, with patience.
async fn receive(source: &impl Source, most: usize) -> Vec<Delivery> {
    let received = timeout(PATIENCE, source.receive(most)).await;
    received.unwrap_or_else(|_| panic!("messages come: {:?}", source.link()))
}

/// Receives until each of these has come, and acknowledges everything. Answers all that came, in its order.
async fn take(source: &impl Source, ids: &BTreeSet<String>) -> Vec<String> {
    let mut came = Vec::new();
    while !ids.iter().all(|id| came.contains(id)) {
        for delivery in receive(source, 100).await {
            came.push(id(&delivery));
            delivery.acknowledgement.acknowledge().await.expect("the broker hears of it");
        }
    }
    came
}

fn id(delivery: &Delivery) -> String {
    attribute(delivery, "id").unwrap_or_default()
}

fn attribute(delivery: &Delivery, name: &str) -> Option<String> {
    delivery.message.attributes.iter().find(|(one, _)| one == name).and_then(|(_, value)| match value {
        Value::Text(text) => Some(text.clone()),
        Value::Undecodable => None,
    })
}

/// The next message, under an id of its own.
fn message(body: &str) -> Published {
    let attributes = [("specversion", "1.0"), ("id", &Uuid::new_v4().to_string()), ("type", "order.placed.v1")];
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Published { attributes: attributes.into(), traceparent: None, odd: None, body: body.as_bytes().to_vec() }
}

/// Until nothing is left that was not acknowledged.
async fn nothing_is_left<O: Origin>(origin: &O) {
    let left = async {
        while origin.left().await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, left).await.expect("everything that was acknowledged is gone");
}

/// Writes a test for each clause of the contract, of an [`Origin`](crate::contract::Origin).
#[macro_export]
macro_rules! contract {
    ($origin:ty) => {
        $crate::contract!(@ $origin:
            what_was_published_arrives_intact,
            a_header_that_is_no_text_is_delivered_as_that,
            what_is_acknowledged_does_not_come_again,
            what_is_given_back_comes_again,
            many_arrive_and_no_more_at_once_than_asked_for,
            receiving_that_is_dropped_loses_nothing,
            what_a_process_that_ended_held_comes_again,
            a_killed_server_is_noticed_and_consumed_from_again,
            a_frozen_server_is_noticed_and_consumed_from_again,
            a_connection_that_is_cut_is_made_again,
            it_begins_without_a_server,
        );
    };
    (@ $origin:ty: $($clause:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $clause() {
                $crate::contract::$clause::<$origin>().await;
            }
        )*
    };
}
