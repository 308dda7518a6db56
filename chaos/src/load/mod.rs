//! What is published, and handlers of every kind.
//!
//! What an execution is to do stands in its message, drawn by the publisher, so that the seed says it. Handlers note what they
//! do: in the ledger, and in tables without a unique constraint, so that whatever happens twice shows.

mod courier;
mod moody;
mod parcel;
mod seen;
mod trouble;

pub use courier::Deliver;
pub use parcel::{Fate, ParcelForwarded, ParcelSent};
pub use seen::Seen;
pub use trouble::{Aborts, Blocks, Hopeless, Lasts, Panics, Quarantined, Snoozes, TimesOut};

/// Which handlers each message has, as the checker expects it; not read from the engine.
pub const HANDLERS: [(&str, &[&str]); 11] = [
    (
        "parcel.sent",
        &["parcel.book", "parcel.forward", "parcel.count", "outside.announce", "moody.plain", "moody.in_transaction"],
    ),
    ("parcel.forwarded", &["parcel.arrive", "outside.confirm"]),
    ("courier.deliver", &["courier.deliver"]),
    ("trouble.panics", &["trouble.panics"]),
    ("trouble.times_out", &["trouble.times_out"]),
    ("trouble.blocks", &["trouble.blocks"]),
    ("trouble.snoozes", &["trouble.snoozes"]),
    ("trouble.aborts", &["trouble.aborts"]),
    ("trouble.lasts", &["trouble.lasts"]),
    ("trouble.hopeless", &["trouble.hopeless"]),
    ("trouble.quarantined", &["trouble.quarantined"]),
];

/// Handlers that take the transaction and write one effect.
pub const TRANSACTIONAL: [&str; 6] =
    ["parcel.book", "parcel.forward", "parcel.arrive", "courier.deliver", "moody.in_transaction", "trouble.hopeless"];

/// Handlers that count their executions in a row of their own.
pub const COUNTED: [&str; 1] = ["parcel.count"];

/// Handlers that call somebody outside.
pub const CALLING: [&str; 2] = ["outside.announce", "outside.confirm"];

/// Handlers that block their thread, which nobody can cancel.
pub const BLOCKING: [&str; 1] = ["trouble.blocks"];

/// Handlers whose jobs end as failed, and stay so.
pub const FAILING: [&str; 1] = ["trouble.quarantined"];

/// The handler whose executions publish, and what they publish: a message of the same label with this behind it.
pub const FORWARDING: (&str, [(&str, &str); 2]) =
    ("parcel.forward", [("parcel.forwarded", "/forwarded"), ("courier.deliver", "/deliver")]);

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use outbox::{Guard, Registry};

    use super::*;

    /// The checker's table of handlers is what is linked, no more and no less.
    #[test]
    fn the_checker_knows_every_handler() {
        let linked: BTreeSet<_> = Registry::linked().subscribers().iter().map(|one| one.name).collect();
        let known: BTreeMap<_, _> = HANDLERS.into_iter().collect();
        let known: BTreeSet<_> = known.values().copied().flatten().copied().collect();
        assert_eq!(known, linked);
        let transactional = Registry::linked()
            .subscribers()
            .iter()
            .filter(|one| one.guard == Guard::Transaction)
            .map(|one| one.name)
            .collect::<BTreeSet<_>>();
        assert_eq!(BTreeSet::from(TRANSACTIONAL), transactional);
    }
}
