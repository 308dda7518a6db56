//! Many messages of one handler in one call, each with an outcome of its own.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::DateTime;
use ulid::Ulid;

use crate::delivery::{Delivery, Item};
use crate::envelope::{Envelope, Metadata, Payload, Subject};
use crate::extract::Input;
use crate::failure::{BoxError, Failure, Verdict};
use crate::id::EventId;
use crate::idempotency::IdempotencyKey;
use crate::message::{Kind, Message, Versions};
use crate::outcome::{HandlerError, Outcome};

/// Most messages of one call, unless a handler that takes a [`Batch`] says another number.
pub const DEFAULT_BATCH: u32 = 100;
/// Most messages of one call that a handler may say.
pub const MOST_IN_A_BATCH: u32 = 1_000;

/// Many messages in one call, as the first parameter of a subscriber: what is due at the moment, up to `batch = 100` of it.
///
/// Each message has its own job, with its own attempts and its own outcome, so that one that fails is repeated alone. Nothing waits
/// for a batch to fill: a single message is a batch of one.
///
/// An item is its message (it dereferences to it), and has [`fail`](BatchItem::fail) and [`succeed`](BatchItem::succeed). What the
/// function returns is the outcome of all items of which nothing was said:
///
/// ```
/// # use outbox_core::{Batch, HandlerResult, message::{Kind, Message}};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct OrderPlaced { order_id: i64 }
/// # impl Message for OrderPlaced { const NAME: &'static str = "order.placed"; const VERSION: u32 = 1; const KIND: Kind = Kind::Event; }
/// # async fn bulk(ids: impl Iterator<Item = i64>) -> Result<Vec<(usize, String)>, std::io::Error> { let _ = ids; Ok(Vec::new()) }
/// // #[subscriber(event = "order.placed", idempotent = "writes the same document again")]
/// async fn index(orders: Batch<OrderPlaced>) -> HandlerResult {
///     // An error here is every order's: all are tried again.
///     let refused = bulk(orders.iter().map(|order| order.order_id)).await?;
///     for (place, why) in refused {
///         orders[place].fail(why); // this one is tried again, alone
///     }
///     Ok(()) // and all others are done
/// }
/// ```
///
/// Where the answers come one by one and in order, returning them says the same: `Vec<Result<(), E>>`, or `Result<Vec<Result<(), E>>, E>`.
///
/// What was said before a panic or the timeout counts. An item whose payload does not decode is not among them: it is quarantined alone.
pub struct Batch<T> {
    items: Vec<BatchItem<T>>,
    outcomes: BatchOutcomes,
}

/// One message of a [`Batch`], to which it dereferences.
pub struct BatchItem<T> {
    message: T,
    job: BatchJob,
}

/// The job of one message of a [`Batch`]: its envelope and counters, and the say in its outcome.
#[derive(Clone)]
pub struct BatchJob {
    item: Item,
    place: usize,
    outcomes: BatchOutcomes,
}

/// What was said of each message of a batch.
#[derive(Debug, Clone, Default)]
pub struct BatchOutcomes(Arc<Mutex<Vec<Slot>>>);

/// Of one message.
#[derive(Debug, Clone, Default)]
struct Slot {
    said: Option<Outcome>,
    /// The function never saw it: it did not decode, or `when` declined it.
    left_out: bool,
}

/// What a [`Batch`] can hold: an event, a job, or the bare envelope.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event, so there is no batch of it",
    label = "a `Batch` holds a type marked `#[event(..)]` or `#[job(..)]`, or `Envelope`",
    note = "if `{Self}` is to be one, write `#[event(\"order.placed\")]` above it; to receive events undecoded, take `Batch<Envelope>`"
)]
pub trait Single: Sized + Send {
    /// As [`Input::MESSAGE`].
    const MESSAGE: Option<(&'static str, u32, Kind)>;
    /// As [`Input::VERSIONS`].
    const VERSIONS: Versions;

    /// Decodes one message.
    ///
    /// # Errors
    /// When the payload does not fit.
    fn read(item: &Item) -> Result<Self, BoxError>;
}

#[diagnostic::do_not_recommend]
impl<M: Message> Single for M {
    const MESSAGE: Option<(&'static str, u32, Kind)> = Some((M::NAME, M::VERSION, M::KIND));
    const VERSIONS: Versions = Versions::Only(M::VERSIONS);

    fn read(item: &Item) -> Result<Self, BoxError> {
        item.envelope.read().map_err(|error| Failure::quarantine(error).into())
    }
}

/// The one that all jobs of its event share in memory.
impl Single for Arc<Envelope> {
    const MESSAGE: Option<(&'static str, u32, Kind)> = None;
    const VERSIONS: Versions = Versions::Any;

    fn read(item: &Item) -> Result<Self, BoxError> {
        Ok(Self::clone(&item.envelope))
    }
}

impl Single for Envelope {
    const MESSAGE: Option<(&'static str, u32, Kind)> = None;
    const VERSIONS: Versions = Versions::Any;

    fn read(item: &Item) -> Result<Self, BoxError> {
        Ok(Self::clone(&item.envelope))
    }
}

#[diagnostic::do_not_recommend]
impl<'a, T: Single> Input<'a> for Batch<T> {
    const MESSAGE: Option<(&'static str, u32, Kind)> = T::MESSAGE;
    const VERSIONS: Versions = T::VERSIONS;
    const BATCH: bool = true;

    type Asked = T;

    /// What does not decode has its outcome, and is left out. An error when nothing is left; it is then nobody's.
    fn decode(delivery: &Delivery<'a>) -> Result<Self, BoxError> {
        let outcomes = delivery.outcomes().cloned().unwrap_or_else(|| BatchOutcomes::of(delivery.items().len()));
        let mut items = Vec::with_capacity(delivery.items().len());
        for (place, item) in delivery.items().iter().enumerate() {
            match T::read(item) {
                Ok(message) => {
                    let job = BatchJob { item: item.clone(), place, outcomes: outcomes.clone() };
                    items.push(BatchItem { message, job });
                }
                Err(error) => outcomes.leave_out(place, Outcome::of_error(&error)),
            }
        }
        if items.is_empty() {
            return Err(Failure::quarantine("no payload of the batch decodes").into());
        }
        Ok(Self { items, outcomes })
    }

    fn accepted(mut self, when: fn(&T) -> bool) -> Option<Self> {
        self.items.retain(|item| {
            let accepted = when(&item.message);
            if !accepted {
                item.job.outcomes.leave_out(item.job.place, Outcome::Skipped);
            }
            accepted
        });
        (!self.items.is_empty()).then_some(self)
    }
}

impl<T> Batch<T> {
    /// Its items, in the order in which they became due.
    pub fn iter(&self) -> std::slice::Iter<'_, BatchItem<T>> {
        self.items.iter()
    }

    /// How many there are; at least one, in a handler.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The messages by themselves, and of each the job, in one order: for a call that takes the messages by value.
    #[must_use]
    pub fn into_parts(self) -> (Vec<T>, Vec<BatchJob>) {
        self.items.into_iter().map(BatchItem::into_parts).unzip()
    }

    /// What the handler says of each: in a unit test, to be kept before the handler takes the batch.
    #[must_use]
    pub fn outcomes(&self) -> BatchOutcomes {
        self.outcomes.clone()
    }

    fn made_of(messages: impl IntoIterator<Item = (T, Envelope)>) -> Self {
        let outcomes = BatchOutcomes::default();
        let made = messages.into_iter().enumerate().map(|(place, (message, envelope))| {
            let effect = envelope.id;
            let item = Item { envelope: Arc::new(envelope), attempt: 1, effect, handler: "unit.test" };
            BatchItem { message, job: BatchJob { item, place, outcomes: outcomes.clone() } }
        });
        let items: Vec<_> = made.collect();
        outcomes.slots().resize(items.len(), Slot::default());
        Self { items, outcomes }
    }
}

impl<M: Message> Batch<M> {
    /// A batch for a unit test of a handler: of these messages, each at its first attempt.
    ///
    /// ```
    /// # use outbox_core::{Batch, HandlerResult, Outcome, message::{Kind, Message}};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct OrderPlaced { units: i64 }
    /// # impl Message for OrderPlaced { const NAME: &'static str = "order.placed"; const VERSION: u32 = 1; const KIND: Kind = Kind::Event; }
    /// # async fn index(orders: Batch<OrderPlaced>) -> HandlerResult { orders[1].fail("no units"); Ok(()) }
    /// # async fn test() {
    /// let orders = Batch::of([OrderPlaced { units: 1 }, OrderPlaced { units: 0 }]);
    /// let outcomes = orders.outcomes();
    /// index(orders).await.unwrap();
    /// assert_eq!(outcomes.said(0), None); // it takes the function's `Ok(())`
    /// assert!(matches!(outcomes.said(1), Some(Outcome::Failed { error, .. }) if error == "no units"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// When a message cannot be written as JSON.
    #[must_use]
    pub fn of(messages: impl IntoIterator<Item = M>) -> Self {
        let named = messages.into_iter().enumerate().map(|(place, message)| {
            let payload = serde_json::to_string(&message).expect("a message is JSON");
            let envelope = Envelope {
                id: EventId::from_ulid(Ulid::from_parts(0, place as u128)),
                name: M::NAME.to_owned(),
                version: M::VERSION,
                occurred_at: DateTime::UNIX_EPOCH,
                subject: Subject::default(),
                metadata: Metadata::default(),
                payload: Payload::from_json(payload),
            };
            (message, envelope)
        });
        Self::made_of(named)
    }
}

impl Batch<Envelope> {
    /// The same of envelopes.
    #[must_use]
    pub fn of_envelopes(envelopes: impl IntoIterator<Item = Envelope>) -> Self {
        Self::made_of(envelopes.into_iter().map(|envelope| (envelope.clone(), envelope)))
    }
}

impl<T> Deref for Batch<T> {
    type Target = [BatchItem<T>];

    fn deref(&self) -> &[BatchItem<T>] {
        &self.items
    }
}

impl<T> IntoIterator for Batch<T> {
    type Item = BatchItem<T>;
    type IntoIter = std::vec::IntoIter<BatchItem<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'b, T> IntoIterator for &'b Batch<T> {
    type Item = &'b BatchItem<T>;
    type IntoIter = std::slice::Iter<'b, BatchItem<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T> BatchItem<T> {
    /// The message by itself, and its job.
    #[must_use]
    pub fn into_parts(self) -> (T, BatchJob) {
        (self.message, self.job)
    }

    /// Its job, which can be kept when the message is given away.
    #[must_use]
    pub fn job(&self) -> &BatchJob {
        &self.job
    }

    /// Id, time, subject, correlation, actor.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        self.job.envelope()
    }

    /// Which execution of this message it is, counted from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.job.attempt()
    }

    /// The same text at every execution for this message.
    #[must_use]
    pub fn key(&self) -> IdempotencyKey {
        self.job.key()
    }

    /// See [`BatchJob::succeed`].
    pub fn succeed(&self) {
        self.job.succeed();
    }

    /// See [`BatchJob::fail`].
    pub fn fail<E: HandlerError>(&self, error: E) {
        self.job.fail(error);
    }
}

impl<T> Deref for BatchItem<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.message
    }
}

impl BatchJob {
    /// Id, time, subject, correlation, actor.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.item.envelope
    }

    /// Which execution of this message it is, counted from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.item.attempt
    }

    /// The same text at every execution for this message.
    #[must_use]
    pub fn key(&self) -> IdempotencyKey {
        self.item.key()
    }

    /// This one is done, whatever becomes of the others, and whatever the function returns. The last word counts.
    pub fn succeed(&self) {
        self.outcomes.say(self.place, Outcome::Done);
    }

    /// This one failed, whatever becomes of the others, and whatever the function returns; as an error that a handler of one message
    /// returns, a [`Failure`] among them. The last word counts.
    pub fn fail<E: HandlerError>(&self, error: E) {
        self.outcomes.say(self.place, Outcome::of_error(&error.into_box()));
    }
}

impl BatchOutcomes {
    /// Of so many messages, of which nothing was said yet.
    #[must_use]
    pub fn of(messages: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![Slot::default(); messages])))
    }

    /// What was said of the message in this place, counted from 0; `None` when it takes what the function returns.
    #[must_use]
    pub fn said(&self, place: usize) -> Option<Outcome> {
        self.slots().get(place).and_then(|slot| slot.said.clone())
    }

    /// All that was said, in order. What is said from now on changes nothing.
    #[must_use]
    pub fn close(&self) -> Vec<Option<Outcome>> {
        std::mem::take(&mut *self.slots()).into_iter().map(|slot| slot.said).collect()
    }

    /// The outcomes of those that the function saw, in order; what was said of one before stays. Answers what the others come to.
    pub(crate) fn say_each(&self, outcomes: Vec<Outcome>) -> Outcome {
        let mut slots = self.slots();
        let seen = slots.iter().filter(|slot| !slot.left_out).count();
        if seen != outcomes.len() {
            let error = format!(
                "the handler answered {} outcomes for {seen} messages: answer one for each, in their order",
                outcomes.len()
            );
            return Outcome::Failed { verdict: Verdict::Retry, error };
        }
        for (slot, outcome) in slots.iter_mut().filter(|slot| !slot.left_out).zip(outcomes) {
            slot.said.get_or_insert(outcome);
        }
        Outcome::Done
    }

    fn say(&self, place: usize, outcome: Outcome) {
        if let Some(slot) = self.slots().get_mut(place) {
            slot.said = Some(outcome);
        }
    }

    fn leave_out(&self, place: usize, outcome: Outcome) {
        if let Some(slot) = self.slots().get_mut(place) {
            *slot = Slot { said: Some(outcome), left_out: true };
        }
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        // No panic can leave a slot half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows ids, not messages: payloads stay out of logs.
impl<T> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.items).finish()
    }
}

impl<T> fmt::Debug for BatchItem<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.job.fmt(f)
    }
}

impl fmt::Debug for BatchJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, place, .. } = self;
        write!(f, "{place}: {} {}, attempt {}", item.envelope.name, item.envelope.id, item.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::IntoOutcome as _;

    fn failed(error: &str) -> Outcome {
        Outcome::Failed { verdict: Verdict::Retry, error: error.to_owned() }
    }

    #[test]
    fn outcomes_in_order_pass_over_what_the_function_never_saw() {
        let outcomes = BatchOutcomes::of(3);
        outcomes.leave_out(1, Outcome::Skipped);
        let all = vec![Ok(()), Err("refused")].into_outcome(Some(&outcomes));
        assert_eq!(all, Outcome::Done);
        assert_eq!(outcomes.close(), [Some(Outcome::Done), Some(Outcome::Skipped), Some(failed("refused"))]);
    }

    #[test]
    fn a_wrong_number_of_outcomes_is_a_failure_of_all() {
        let outcomes = BatchOutcomes::of(2);
        let all = Ok::<_, BoxError>(vec![Ok::<_, BoxError>(())]).into_outcome(Some(&outcomes));
        let error = "the handler answered 1 outcomes for 2 messages: answer one for each, in their order";
        assert_eq!(all, failed(error));
        assert_eq!(outcomes.close(), [None, None]);
    }

    #[test]
    fn the_last_word_of_an_item_counts_and_what_is_said_too_late_does_not() {
        let outcomes = BatchOutcomes::of(2);
        outcomes.say(0, failed("at first"));
        outcomes.say(0, Outcome::Done);
        let all = vec![Err("in order"), Err("in order")].into_outcome(Some(&outcomes));
        assert_eq!((all, outcomes.said(0)), (Outcome::Done, Some(Outcome::Done)));
        assert_eq!(outcomes.close(), [Some(Outcome::Done), Some(failed("in order"))]);
        outcomes.say(0, failed("too late"));
        assert_eq!(outcomes.said(0), None);
    }
}
