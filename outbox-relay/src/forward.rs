//! The subscriber's side: the events of one delivery, each settled by its own confirm.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use outbox::{Batch, BoxError, Cancellation, Delivery, Envelope, EventId, Failure, FromDelivery, Requirements, State};

use crate::relay::Relay;
use crate::transport::Transport;

/// The right to send the events of one delivery, as a parameter of the subscriber that a relay is; [`relay!`](crate::relay!) writes it.
///
/// It sends what this delivery brought, and nothing else: an event that has committed, under its own id. So a handler has no way past the
/// outbox to the broker.
pub struct Relaying<T> {
    relay: Relay<T>,
    events: HashMap<EventId, Arc<Envelope>>,
    stop: Cancellation,
}

impl<T: Transport> Relaying<T> {
    /// Sends the events of the batch (of whatever their handler reads them as), as many at once as the relay's window lets, and says of each what became of it: done when the
    /// broker has confirmed it, and not before.
    ///
    /// # Cancel safety
    /// What was confirmed is said already. Everything else is sent again, under its own id.
    pub async fn forward<E>(self, batch: Batch<E>) {
        let (_, jobs) = batch.into_parts();
        let held_until = self.relay.held_until();
        let sendings = jobs.iter().map(async |job| {
            let Some(event) = self.events.get(&job.envelope().id) else {
                return job.fail(Failure::quarantine("it is none of this delivery's events"));
            };
            match self.relay.send(event, held_until, &self.stop).await {
                Ok(()) => job.succeed(),
                Err(error) => job.fail(error),
            }
        });
        join_all(sendings).await;
    }
}

impl<'a, T: Transport> FromDelivery<'a> for Relaying<T> {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        let State(relay) = State::<Relay<T>>::from_delivery(delivery)?;
        let stop = Cancellation::from_delivery(delivery)?;
        let events = delivery.items().iter().map(|item| (item.envelope.id, Arc::clone(&item.envelope))).collect();
        Ok(Self { relay, events, stop })
    }

    fn requires(out: &mut Requirements) {
        State::<Relay<T>>::requires(out);
    }
}

impl<T: Transport> fmt::Debug for Relaying<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Relaying({} events of {:?})", self.events.len(), self.relay)
    }
}
