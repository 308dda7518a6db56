//! One destination, as a process sees it: its transport, its circuit, and what is known of both.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use outbox::{BoxError, Cancellation, Envelope, Failure, HandlerResult};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{Instrument as _, Span, field};

use crate::builder::RelayBuilder;
use crate::circuit::{Admission, Circuit, Limits, Silence, Ticket};
use crate::message::Outgoing;
use crate::meters::{Away, Meters};
use crate::route::Routing;
use crate::status::{Counts, RelayStatus};
use crate::transport::{Confirmed, NotConfirmed, Transport};

/// Committed events on their way to one destination.
///
/// A value of the application, given by `.state(relay)`; [`relay!`](crate::relay!) declares the subscriber that uses it. It offers no way to
/// publish: what a handler could get hold of tells its [`status`](Self::status), and [`Relaying`](crate::Relaying) sends the events of its own
/// delivery, which have committed. A clone is the same relay.
///
/// ```
/// # fn handler<T: outbox_relay::Transport>(relay: &outbox_relay::Relay<T>) {
/// let status = relay.status();
/// # }
/// ```
/// ```compile_fail
/// # fn handler<T: outbox_relay::Transport>(relay: &outbox_relay::Relay<T>) {
/// let transport = relay.transport(); // there is no way to it
/// # }
/// ```
/// ```compile_fail
/// # async fn handler<T: outbox_relay::Transport>(relay: &outbox_relay::Relay<T>, event: outbox::Envelope, stop: outbox::Cancellation) {
/// let sent = relay.send(&event, tokio::time::Instant::now(), &stop).await; // private
/// # }
/// ```
pub struct Relay<T>(Arc<Inner<T>>);

struct Inner<T> {
    transport: T,
    settings: Settings,
    circuit: Mutex<Circuit>,
    /// Told whenever one more may go.
    turn: Notify,
    counts: Mutex<Counts>,
    meters: Meters,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) source: Arc<str>,
    pub(crate) routing: Routing,
    pub(crate) limits: Limits,
    pub(crate) confirm_timeout: Duration,
    pub(crate) hold: Duration,
    pub(crate) forward_ingested: bool,
}

impl<T: Transport> Relay<T> {
    /// A relay over `transport`, to be built. `source` is what CloudEvents calls by this name: a URI reference that says which service the
    /// events come from, as `/shop`. Consumers tell events apart by source and id.
    #[must_use]
    pub fn builder(transport: T, source: impl Into<String>) -> RelayBuilder<T> {
        RelayBuilder::new(transport, source.into())
    }

    pub(crate) fn new(transport: T, settings: Settings) -> Self {
        let circuit = Mutex::new(Circuit::new(settings.limits));
        let meters = Meters::new(transport.destination());
        transport.link().measured(Away::new(transport.destination()));
        Self(Arc::new(Inner { transport, settings, circuit, turn: Notify::new(), counts: Mutex::default(), meters }))
    }

    /// How the destination does. Computed when it is asked for, from what is in memory: it moves on also while nothing is sent.
    #[must_use]
    pub fn status(&self) -> RelayStatus {
        let link = self.0.transport.link().status();
        let circuit = self.circuit();
        let counts = lock(&self.0.counts);
        RelayStatus::new(self.0.transport.destination(), &circuit, &counts, link)
    }

    /// When holding messages of a call that begins now ends.
    pub(crate) fn held_until(&self) -> Instant {
        Instant::now() + self.0.settings.hold
    }

    /// Sends one event and waits for the broker's answer; what it answers is the outcome of the event's job.
    pub(crate) async fn send(&self, event: &Arc<Envelope>, held_until: Instant, stop: &Cancellation) -> HandlerResult {
        let Settings { source, routing, confirm_timeout, forward_ingested, .. } = &self.0.settings;
        if let Some(origin) = event.metadata.origin.as_deref().filter(|_| !forward_ingested) {
            self.0.meters.ingested();
            return Err(Failure::discard(format!("it came from `{origin}`, and is not sent on")).into());
        }
        let message = Outgoing::of(event, source, routing).map_err(Failure::quarantine)?;
        let turn = self.turn(held_until, stop).await?;
        let sent_at = Instant::now();
        let publishing = self.0.transport.publish(&message).instrument(self.span(event, &message));
        let answer = timeout(*confirm_timeout, publishing).await;
        let answer = answer.unwrap_or(Err(NotConfirmed::NoAnswer(*confirm_timeout)));
        self.0.meters.answered(&answer, sent_at.elapsed());
        let outcome = turn.ended(answer);
        self.0.meters.circuit(&self.circuit());
        outcome
    }

    /// What its transport logs of a message stands in this span, which belongs to the trace of the request that set it in motion.
    fn span(&self, event: &Envelope, message: &Outgoing) -> Span {
        let span = tracing::info_span!(
            "relay",
            destination = self.0.transport.destination(),
            message = event.name,
            id = message.id_text(),
            route = message.route(),
            traceparent = field::Empty,
        );
        if let Some(traceparent) = &event.metadata.traceparent {
            span.record("traceparent", traceparent);
        }
        span
    }

    /// Waits until one more message may go, at most until `held_until`.
    async fn turn(&self, held_until: Instant, stop: &Cancellation) -> Result<Turn<'_, T>, BoxError> {
        loop {
            let told = self.0.turn.notified();
            tokio::pin!(told);
            // From here on no word is missed.
            told.as_mut().enable();
            let now = Instant::now();
            let admission = self.circuit().admit(now);
            let until = match admission {
                Admission::Go(ticket) => return Ok(Turn { relay: self, ticket: Some(ticket) }),
                Admission::Wait => held_until,
                Admission::Closed(until) => until.min(held_until),
            };
            if now >= held_until {
                return Err(self.step_back("it waited for its turn"));
            }
            tokio::select! {
                () = told => {}
                () = sleep_until(until) => {}
                () = stop.cancelled() => {
                    let soon = self.0.settings.limits.first_pause;
                    return Err(Failure::snooze(soon, "it had not been sent when the worker stopped").into());
                }
            }
        }
    }

    /// Not now, and charged nothing. As long as the destination is left alone, and up to as long again, so that not all come back at once.
    fn step_back(&self, why: &str) -> BoxError {
        let pause =
            self.circuit().pauses_for(Instant::now()).unwrap_or_default().max(self.0.settings.limits.first_pause);
        let pause = pause.mul_f64(1.0 + rand::random::<f64>());
        let destination = self.0.transport.destination();
        let last = lock(&self.0.counts).last_error.clone();
        let last = last.map(|error| format!("; the last error was: {error}")).unwrap_or_default();
        Failure::snooze(pause, format!("not sent to `{destination}` yet: {why}{last}")).into()
    }

    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        lock(&self.0.circuit)
    }
}

/// One message that may go. Dropped before its end, it makes room for another.
struct Turn<'r, T: Transport> {
    relay: &'r Relay<T>,
    ticket: Option<Ticket>,
}

impl<T: Transport> Turn<'_, T> {
    /// What the broker's answer means for the job.
    fn ended(mut self, answer: Result<Confirmed, NotConfirmed>) -> HandlerResult {
        let Some(ticket) = self.ticket.take() else { return Ok(()) };
        let relay = self.relay;
        lock(&relay.0.counts).count(&answer);
        match answer {
            Ok(_) => {
                self.answered(&ticket);
                Ok(())
            }
            Err(refused @ (NotConfirmed::Unroutable { .. } | NotConfirmed::Refused(_))) => {
                self.answered(&ticket);
                Err(refused.into())
            }
            Err(unsendable @ NotConfirmed::Unsendable(_)) => {
                // Mostly found out without the broker, so it says nothing about it.
                self.forgotten(&ticket);
                Err(Failure::quarantine(unsendable).into())
            }
            Err(NotConfirmed::NoAnswer(after)) => Err(self.silent(&ticket, after)),
            Err(NotConfirmed::Unreachable(why)) => {
                relay.circuit().unreachable(&ticket, Instant::now(), rand::random());
                self.opened(&why);
                Err(relay.step_back("the broker cannot be reached"))
            }
        }
    }

    fn answered(&self, ticket: &Ticket) {
        let was_closed = {
            let mut circuit = self.relay.circuit();
            let was_closed = circuit.is_closed();
            circuit.answered(ticket);
            was_closed || !circuit.is_closed()
        };
        if was_closed {
            // Its own place, and the one by which the window may have grown.
            self.relay.0.turn.notify_one();
            self.relay.0.turn.notify_one();
        } else {
            tracing::info!(
                destination = self.relay.0.transport.destination(),
                "the broker answers again, and events go"
            );
            self.relay.0.turn.notify_waiters();
        }
    }

    fn forgotten(&self, ticket: &Ticket) {
        self.relay.circuit().forgotten(ticket, Instant::now());
        self.relay.0.turn.notify_one();
    }

    fn silent(&self, ticket: &Ticket, after: Duration) -> BoxError {
        let relay = self.relay;
        let silence = relay.circuit().silent(ticket, Instant::now(), rand::random());
        match silence {
            Silence::OfAll => {
                self.opened(&NotConfirmed::NoAnswer(after).to_string());
                relay.step_back("the broker does not answer")
            }
            Silence::OfOne => {
                relay.0.turn.notify_one();
                let pause = relay.0.settings.limits.longest_pause.mul_f64(1.0 + rand::random::<f64>());
                let destination = relay.0.transport.destination();
                let why = format!(
                    "`{destination}` answered others, and not this one within {after:?}: may it be published there?"
                );
                Failure::snooze(pause, why).into()
            }
        }
    }

    /// Those who wait learn of the pause.
    fn opened(&self, why: &str) {
        let relay = self.relay;
        let (pauses, again_in) = {
            let circuit = relay.circuit();
            (circuit.pauses(), circuit.pauses_for(Instant::now()))
        };
        // One that is over by now is not told of, so it is not told either.
        let is_first = lock(&relay.0.counts).told_of(again_in.map(|_| pauses), why);
        if let Some(again_in) = again_in.filter(|_| is_first) {
            let destination = relay.0.transport.destination();
            tracing::warn!(
                destination,
                why,
                "nothing is sent to the broker for {again_in:.1?}; its events wait, and are charged nothing"
            );
        }
        relay.0.turn.notify_waiters();
    }
}

impl<T: Transport> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.forgotten(&ticket);
        }
    }
}

impl<T> Clone for Relay<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Transport> fmt::Debug for Relay<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Relay").field(&self.status()).finish()
    }
}

/// No panic can leave a value half written behind these locks.
fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "relay/tests.rs"]
mod tests;
