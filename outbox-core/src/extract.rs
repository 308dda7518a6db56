//! How a handler's parameters are filled: the first from the payload, every other from the delivery.

use std::any::TypeId;

use crate::delivery::Delivery;
use crate::envelope::Envelope;
use crate::failure::{BoxError, Failure};
use crate::idempotency::{Guard, IdempotencyKey};
use crate::message::{Kind, Message, Versions};
use crate::state::{MissingState, Requirement, Requirements};

/// A parameter behind the first.
///
/// Implement it for a type of your own to gather what several handlers take; delegate to the extractors inside, and
/// pass on their `GUARD`, `PER_EVENT` and `requires`.
///
/// ```
/// use outbox_core::{Attempt, BoxError, Delivery, FromDelivery, Requirements, State};
///
/// #[derive(Clone)]
/// struct Mailer;
///
/// struct Sender { mailer: Mailer, attempt: u32 }
///
/// impl<'a> FromDelivery<'a> for Sender {
///     fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
///         let State(mailer) = State::from_delivery(delivery)?;
///         let Attempt(attempt) = Attempt::from_delivery(delivery)?;
///         Ok(Self { mailer, attempt })
///     }
///     fn requires(out: &mut Requirements) {
///         State::<Mailer>::requires(out);
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler",
    label = "not something that a delivery holds",
    note = "parameters behind a subscriber's first, and all of a scheduled function, are `Tx<'_>`, `State<T>`, `IdempotencyKey`, `Attempt`, `Envelope`, `Cancellation`, for a scheduled function `Tick`, or a type of yours that implements `FromDelivery`; for the open transaction take `Tx<'_>`, for a value of the application `State<{Self}>`"
)]
pub trait FromDelivery<'a>: Sized + Send {
    /// What this parameter contributes to running twice safely.
    const GUARD: Guard = Guard::None;
    /// Whether the value belongs to one event, so that a batch handler cannot take it.
    const PER_EVENT: bool = false;
    /// Whether the value is there for scheduled functions only.
    const OF_A_SCHEDULE: bool = false;

    /// Takes the value out of the delivery.
    ///
    /// # Errors
    /// When the delivery does not hold it; the attempt then fails like any other.
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError>;

    /// Adds the application state that it needs, so that `build()` can refuse to start without it.
    fn requires(_out: &mut Requirements) {}
}

/// The first parameter: an event, a job, the bare envelope, or a [`Batch`](crate::Batch) of one of these.
#[diagnostic::on_unimplemented(
    message = "the first parameter of a subscriber is its event, or a `Batch` of them, and `{Self}` is neither",
    label = "must be a type marked `#[event(..)]` or `#[job(..)]`, or `Envelope`, or a `Batch` of one of these",
    note = "put the event first; a type becomes an event by `#[event(\"order.placed\")]` above it; to receive events undecoded, take `Envelope`"
)]
pub trait Input<'a>: Sized + Send {
    /// Name, version and kind of the payload; `None` for an envelope, which fits any.
    const MESSAGE: Option<(&'static str, u32, Kind)>;
    /// Which versions of the payload it can take.
    const VERSIONS: Versions;
    /// Whether several events are taken at once.
    const BATCH: bool = false;

    /// What `when` is asked about: this, or one item of a batch.
    type Asked;

    /// Decodes the payload.
    ///
    /// # Errors
    /// When the payload does not fit. The error quarantines: no retry will make it fit.
    fn decode(delivery: &Delivery<'a>) -> Result<Self, BoxError>;

    /// What `when` leaves of it; `None` when that is nothing.
    fn accepted(self, when: fn(&Self::Asked) -> bool) -> Option<Self>;
}

#[diagnostic::do_not_recommend]
impl<'a, M: Message> Input<'a> for M {
    const MESSAGE: Option<(&'static str, u32, Kind)> = Some((M::NAME, M::VERSION, M::KIND));
    const VERSIONS: Versions = Versions::Only(M::VERSIONS);

    type Asked = M;

    fn decode(delivery: &Delivery<'a>) -> Result<Self, BoxError> {
        delivery.item().envelope.read().map_err(|error| Failure::quarantine(error).into())
    }

    fn accepted(self, when: fn(&M) -> bool) -> Option<Self> {
        when(&self).then_some(self)
    }
}

impl<'a> Input<'a> for Envelope {
    const MESSAGE: Option<(&'static str, u32, Kind)> = None;
    const VERSIONS: Versions = Versions::Any;

    type Asked = Self;

    fn decode(delivery: &Delivery<'a>) -> Result<Self, BoxError> {
        Ok(Envelope::clone(&delivery.item().envelope))
    }

    fn accepted(self, when: fn(&Self) -> bool) -> Option<Self> {
        when(&self).then_some(self)
    }
}

impl<'a> FromDelivery<'a> for Envelope {
    const PER_EVENT: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        Ok(Envelope::clone(&delivery.item().envelope))
    }
}

/// A value that the application gave by `Outbox::builder(..).state(value)`, cloned for each execution.
#[derive(Debug, Clone, Copy)]
pub struct State<T>(pub T);

impl<'a, T: Clone + Send + Sync + 'static> FromDelivery<'a> for State<T> {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        delivery.state().get::<T>().cloned().map(State).ok_or_else(|| MissingState(std::any::type_name::<T>()).into())
    }

    fn requires(out: &mut Requirements) {
        out.push(Requirement { id: TypeId::of::<T>(), name: std::any::type_name::<T> });
    }
}

impl<'a> FromDelivery<'a> for IdempotencyKey {
    const GUARD: Guard = Guard::Key;
    const PER_EVENT: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        Ok(delivery.item().key())
    }
}

/// Which execution this is, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt(pub u32);

impl<'a> FromDelivery<'a> for Attempt {
    const PER_EVENT: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        Ok(Self(delivery.item().attempt))
    }
}
