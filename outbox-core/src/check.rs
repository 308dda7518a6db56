//! Rules that generated code evaluates while compiling.
//!
//! Each is a `#[track_caller]` const function: the error stands at the token whose span the call carries, so the rule
//! and its wording live here, and the attribute only supplies the span.

use crate::batch::DEFAULT_BATCH;
use crate::idempotency::Guard;
use crate::message::{Kind, Versions};
use crate::text::{Text, str_eq};

/// Name, version and kind of the payload; `None` for an envelope. A type whose own attribute was refused has an empty
/// name, which fits anything: one mistake is reported once.
pub type Declared<'a> = Option<(&'a str, u32, Kind)>;

#[track_caller]
const fn refuse(text: &Text) -> ! {
    panic!("{}", text.as_str())
}

/// `#[subscriber(event = "said")]` with a first parameter of type `payload`.
///
/// # Panics
/// While compiling, when the payload is a job or an event of another name.
#[track_caller]
pub const fn event_is_its_payloads(said: &str, payload: &str, declared: Declared<'_>) {
    let Some((name, _, kind)) = declared else { return };
    match kind {
        Kind::Event => names_are_the_same(said, payload, name, "event"),
        Kind::Job => refuse(
            &Text::new()
                .push("`")
                .push(payload)
                .push("` is a job, not an event: write `job = \"")
                .push(name)
                .push("\"`"),
        ),
    }
}

/// `#[subscriber(job = "said")]` with a first parameter of type `payload`.
///
/// # Panics
/// While compiling, when the payload is no job, or a job of another name.
#[track_caller]
pub const fn job_is_its_payloads(said: &str, payload: &str, declared: Declared<'_>) {
    match declared {
        Some((name, _, Kind::Job)) => names_are_the_same(said, payload, name, "job"),
        Some((name, _, Kind::Event)) => refuse(
            &Text::new()
                .push("`")
                .push(payload)
                .push("` is an event, not a job: write `event = \"")
                .push(name)
                .push("\"`"),
        ),
        None => {
            refuse(&Text::new().push("the handler of a job takes the job's own type, not `").push(payload).push("`"));
        }
    }
}

/// An empty name is that of a message that was refused itself, and has its own error.
#[track_caller]
const fn names_are_the_same(said: &str, payload: &str, name: &str, kind: &str) {
    if name.is_empty() || str_eq(said, name) {
        return;
    }
    let text = Text::new()
        .push("this subscriber says \"")
        .push(said)
        .push("\", but its payload `")
        .push(payload)
        .push("` is the ")
        .push(kind)
        .push(" \"")
        .push(name)
        .push("\"");
    refuse(&text);
}

/// `#[subscriber(event = "order.*")]` with a first parameter of type `payload`.
///
/// # Panics
/// While compiling, when the payload is one event's type.
#[track_caller]
pub const fn wildcard_takes_the_envelope(said: &str, payload: &str, declared: Declared<'_>, batch: bool) {
    if declared.is_some() {
        let envelope = if batch { "Batch<Envelope>" } else { "Envelope" };
        let text = Text::new()
            .push("\"")
            .push(said)
            .push("\" matches many events, so the first parameter must be `")
            .push(envelope)
            .push("`, not `")
            .push(payload)
            .push("`");
        refuse(&text);
    }
}

/// `version = ..` beside a first parameter of type `payload`.
///
/// # Panics
/// While compiling, when the payload is a type, which has a version of its own.
#[track_caller]
pub const fn version_is_for_the_envelope(payload: &str, declared: Declared<'_>) {
    if declared.is_some() {
        let text = Text::new()
            .push("`")
            .push(payload)
            .push("` has a version of its own: `version` is for a subscriber that takes `Envelope`");
        refuse(&text);
    }
}

/// The versions that a handler takes of one event or job: those of its payload's type, or `said` when it takes the
/// envelope.
#[must_use]
pub const fn versions(payload: Versions, said: &'static [u32]) -> Versions {
    match payload {
        Versions::Any => Versions::Only(said),
        Versions::Only(_) => payload,
    }
}

/// `upcast_from = earlier` of a message of this name, version and kind.
///
/// # Panics
/// While compiling, when that is another message, or not an earlier version of it.
#[track_caller]
pub const fn upcast_is_from_an_earlier_version(own: (&str, u32, Kind), earlier: &str, declared: Declared<'_>) {
    let Some(found) = declared else { return };
    is_the_same_message("upcast_from", own, earlier, found);
    if found.1 >= own.1 {
        let text = Text::new()
            .push("this is version ")
            .push_number(own.1)
            .push(" of \"")
            .push(own.0)
            .push("\", and `")
            .push(earlier)
            .push("` is version ")
            .push_number(found.1)
            .push(": it is upcast from an earlier version, so say `version = ")
            .push_number(found.1.saturating_add(1))
            .push("` here, or name an earlier type");
        refuse(&text);
    }
}

/// `also_as = earlier` of a message of this name, version and kind, which is read from `versions`.
///
/// # Panics
/// While compiling, when that is another message, or none of the versions that it is upcast from.
#[track_caller]
pub const fn also_as_is_upcast_from(own: (&str, u32, Kind), versions: &[u32], earlier: &str, declared: Declared<'_>) {
    let Some(found) = declared else { return };
    is_the_same_message("also_as", own, earlier, found);
    let mut i = 1;
    while i < versions.len() {
        if versions[i] == found.1 {
            return;
        }
        i += 1;
    }
    let text = Text::new()
        .push("`")
        .push(earlier)
        .push("` is version ")
        .push_number(found.1)
        .push(" of \"")
        .push(own.0)
        .push("\", which this one is not upcast from: what is published as `")
        .push(earlier)
        .push("` too must also be read from it, so say `upcast_from` as well");
    refuse(&text);
}

/// An empty name is that of a message that was refused itself, and has its own error.
#[track_caller]
const fn is_the_same_message(option: &str, own: (&str, u32, Kind), earlier: &str, found: (&str, u32, Kind)) {
    if own.0.is_empty() || found.0.is_empty() {
        return;
    }
    let same_kind = matches!((own.2, found.2), (Kind::Event, Kind::Event) | (Kind::Job, Kind::Job));
    if same_kind && str_eq(own.0, found.0) {
        return;
    }
    let kind = if matches!(found.2, Kind::Event) { "event" } else { "job" };
    let text = Text::new()
        .push("this is \"")
        .push(own.0)
        .push("\", but `")
        .push(earlier)
        .push("` is the ")
        .push(kind)
        .push(" \"")
        .push(found.0)
        .push("\": `")
        .push(option)
        .push("` names an earlier version of the same one");
    refuse(&text);
}

/// An alias is an earlier name, not the present one.
///
/// # Panics
/// While compiling, when both are the same.
#[track_caller]
pub const fn alias_is_another_name(name: &str, alias: &str) {
    if str_eq(name, alias) {
        let text = Text::new().push("`").push(name).push("` is the handler's present name: an alias is an earlier one");
        refuse(&text);
    }
}

/// The guard of a handler, from those of its parameters.
#[must_use]
pub const fn strongest(guards: &[Guard]) -> Guard {
    let mut found = Guard::None;
    let mut i = 0;
    while i < guards.len() {
        match guards[i] {
            Guard::Transaction => found = Guard::Transaction,
            Guard::Key if matches!(found, Guard::None) => found = Guard::Key,
            _ => {}
        }
        i += 1;
    }
    found
}

/// A handler may run twice, and must say why that is safe (S0-33).
///
/// # Panics
/// While compiling, when neither its parameters nor `idempotent = ".."` say so.
#[track_caller]
pub const fn idempotency_is_stated(handler: &str, guard: Guard, why: Option<&str>, batch: bool) {
    if matches!(guard, Guard::None) && why.is_none() {
        let advice = if batch {
            "` may run twice for a message of its batch: say `idempotent = \"why running twice is safe\"`, for example because each item's `key()` is handed to whoever owns the effect"
        } else {
            "` may run twice: take `Tx<'_>` (effect and completion commit together), or take `IdempotencyKey` and hand it to whoever owns the effect, or say `idempotent = \"why running twice is safe\"`"
        };
        refuse(&Text::new().push("`").push(handler).push(advice));
    }
}

/// A delivery has one transaction. Called once a parameter, with `before` as the last call answered.
///
/// # Panics
/// While compiling, when a second parameter takes it.
#[track_caller]
#[must_use]
pub const fn one_transaction(handler: &str, before: bool, guard: Guard) -> bool {
    let takes = matches!(guard, Guard::Transaction);
    if before && takes {
        let text = Text::new()
            .push("`")
            .push(handler)
            .push("` takes the transaction twice: a delivery has one, so pass `&mut tx` on from the one `Tx<'_>`");
        refuse(&text);
    }
    before || takes
}

/// A key, an attempt count and an envelope belong to one event, not to a batch.
///
/// # Panics
/// While compiling, when a batch handler takes one.
#[track_caller]
pub const fn fits_batch(handler: &str, parameter: &str, batch: bool, per_event: bool) {
    if batch && per_event {
        let text = Text::new().push("`").push(handler).push("` takes a `Batch`, and `").push(parameter).push(
            "` belongs to one event: read it from each item, as `item.key()`, `item.attempt()` or `item.envelope()`",
        );
        refuse(&text);
    }
}

/// Each job of a batch ends by itself, so there is no transaction that is the completion of all.
///
/// # Panics
/// While compiling, when a batch handler takes it.
#[track_caller]
pub const fn batch_has_no_transaction(handler: &str, parameter: &str, batch: bool, guard: Guard) {
    if batch && matches!(guard, Guard::Transaction) {
        let text = Text::new()
            .push("`")
            .push(handler)
            .push("` takes a `Batch`, whose jobs end one by one, so none of them can commit with `")
            .push(parameter)
            .push("`: take one event beside it, or begin a transaction of your own from a pool in `State`");
        refuse(&text);
    }
}

/// `in_transaction` runs once for each event, as it is published.
///
/// # Panics
/// While compiling, when the first parameter of such a subscriber is a batch.
#[track_caller]
pub const fn batch_is_not_in_transaction(handler: &str, payload: &str, batch: bool) {
    if batch {
        let text = Text::new()
            .push("`")
            .push(handler)
            .push("` says `in_transaction`, so it runs for each event as it is published: take the event by itself, not `")
            .push(payload)
            .push("`");
        refuse(&text);
    }
}

/// `batch = ..` beside a first parameter of type `payload`.
///
/// # Panics
/// While compiling, when that is no batch.
#[track_caller]
pub const fn batch_is_for_a_batch(handler: &str, payload: &str, batch: bool) {
    if !batch {
        let text = Text::new()
            .push("`")
            .push(handler)
            .push("` takes one message at a time: leave `batch` out, or take `Batch<")
            .push(payload)
            .push(">`");
        refuse(&text);
    }
}

/// A return type that says an outcome for each message.
///
/// # Panics
/// While compiling, when the handler takes one message.
#[track_caller]
pub const fn each_is_for_a_batch(handler: &str, returned: &str, batch: bool, each: bool) {
    if each && !batch {
        let text = Text::new()
            .push("`")
            .push(handler)
            .push("` takes one message at a time, so it has one outcome: return `Result<(), E>`; `")
            .push(returned)
            .push("` is for a subscriber that takes a `Batch`");
        refuse(&text);
    }
}

/// Most messages of one call: as `said`, for a handler that takes a batch.
#[must_use]
pub const fn most_of_one_call(batch: bool, said: Option<u32>) -> Option<u32> {
    match said {
        _ if !batch => None,
        None => Some(DEFAULT_BATCH),
        Some(_) => said,
    }
}

/// `unknown = park` is for an effect that is somebody else's: one in the transaction is known, it is there or it is not; and a call for
/// many would leave all of them open.
///
/// # Panics
/// While compiling, when a parameter takes the transaction, or the first one is a batch.
#[track_caller]
pub const fn unknown_is_parked(handler: &str, guard: Guard, batch: bool) {
    if matches!(guard, Guard::Transaction) {
        let text = Text::new()
            .push("`")
            .push(handler)
            .push("` takes the transaction, whose effect is undone when the call is broken off: leave `unknown` out; an effect that is somebody else's belongs in a subscriber of its own, without `Tx`");
        refuse(&text);
    }
    if batch {
        let text = Text::new()
            .push("`")
            .push(handler)
            .push("` takes a `Batch`, of which a call that is broken off would leave every message open: take one message at a time, or say it of one, by `item.fail(Failure::outcome_unknown(..))`");
        refuse(&text);
    }
}

/// The time of a tick is there where a schedule is.
///
/// # Panics
/// While compiling, when a subscriber takes it.
#[track_caller]
pub const fn is_no_tick(handler: &str, parameter: &str, of_a_schedule: bool) {
    if of_a_schedule {
        let text = Text::new()
            .push("`")
            .push(handler)
            .push("` is no scheduled function, and `")
            .push(parameter)
            .push("` is there for those only: when an event occurred says its `Envelope`");
        refuse(&text);
    }
}

/// A handler runs on any thread, so its future must be `Send`.
pub fn is_send<F: Future + Send>(handler: F) -> F {
    handler
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_guard_of_the_parameters_counts() {
        assert_eq!(strongest(&[]), Guard::None);
        assert_eq!(strongest(&[Guard::None, Guard::Key]), Guard::Key);
        assert_eq!(strongest(&[Guard::Transaction, Guard::Key]), Guard::Transaction);
    }

    #[test]
    #[should_panic(expected = "`take` may run twice")]
    fn idempotency_left_open_is_refused() {
        idempotency_is_stated("take", Guard::None, None, false);
    }
}
