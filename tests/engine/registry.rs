//! The registry: what is linked, sorted, printed, and every mistake in it with both places.

use outbox::{BuildError, EventDescriptor, Fault, JobDescriptor, Registry, SubscriberDescriptor};
use outbox_core::{Shape, TypeMap};

use crate::linkage::{at, linking, of_job, on, on_any};
use crate::support::Shop;

fn event(name: &'static str, version: u32, line: u32) -> &'static EventDescriptor {
    Box::leak(Box::new(EventDescriptor {
        name,
        version,
        stored_version: version,
        versions: &[],
        check: |_, _| Ok(()),
        shape: || Shape::Other,
        rust_type: || "Event",
        place: at(line),
    }))
}

fn job(name: &'static str, version: u32, line: u32) -> &'static JobDescriptor {
    Box::leak(Box::new(JobDescriptor { name, version, shape: || Shape::Other, rust_type: || "Job", place: at(line) }))
}

fn subscriber(mut descriptor: SubscriberDescriptor, line: u32) -> &'static SubscriberDescriptor {
    descriptor.place = at(line);
    Box::leak(Box::new(descriptor))
}

fn aliased(mut descriptor: SubscriberDescriptor, aliases: &'static [&'static str]) -> SubscriberDescriptor {
    descriptor.aliases = aliases;
    descriptor
}

fn texts(registry: &Registry) -> Vec<String> {
    registry.faults(&TypeMap::default()).iter().map(Fault::to_string).collect()
}

/// S0-13: the registry holds what is linked, sorted by name; neither the linker's order nor anything at run time changes it.
#[tokio::test]
async fn the_registry_is_what_is_linked_sorted() {
    let linked = Registry::linked();
    let names: Vec<_> = linked.subscribers().iter().map(|one| one.name).collect();
    assert!(names.is_sorted() && names.contains(&"inventory.take") && names.contains(&"mail.send"), "{names:?}");
    let events: Vec<_> = linked.events().iter().map(|one| (one.name, one.version)).collect();
    assert!(events.is_sorted() && events.contains(&("order.placed", 1)), "{events:?}");
    let parts = ["c.three", "a.one", "b.two"].map(|name| subscriber(on(name, "order.placed"), 1));
    let forwards = Registry::of([event("order.placed", 1, 1)], [], parts);
    let backwards = Registry::of([event("order.placed", 1, 1)], [], parts.into_iter().rev());
    assert_eq!(forwards.to_string(), backwards.to_string());
    let shop = Shop::new().await;
    let outbox = shop.bare(forwards).build().await.unwrap();
    let before = outbox.registry().to_string();
    shop.bare(linking([on("d.four", "order.placed")])).build().await.unwrap();
    assert_eq!(outbox.registry().to_string(), before);
}

/// S0-13: the registry prints as `event -> [handlers]`, sorted, events without a handler included; who takes an event by a pattern is told with it.
#[test]
fn the_registry_prints_who_receives_what() {
    let registry = Registry::of(
        [
            event("order.placed", 1, 1),
            event("order.placed", 2, 2),
            event("order.cancelled", 1, 3),
            event("payment.taken", 1, 9),
        ],
        [job("mail.send", 1, 4)],
        [
            subscriber(on("notifications.confirm", "order.placed"), 5),
            subscriber(on("inventory.take", "order.placed"), 6),
            subscriber(on_any("audit.watch", "order.*"), 7),
            subscriber(of_job("mail.send"), 8),
        ],
    );
    assert_eq!(
        registry.to_string(),
        "mail.send -> [\n  mail.send,\n]\norder.* -> [\n  audit.watch,\n]\norder.cancelled -> [\n  \
         audit.watch (by order.*),\n]\norder.placed -> [\n  inventory.take,\n  notifications.confirm,\n  audit.watch (by order.*),\n]\n\
         payment.taken -> []\n"
    );
    let handlers: Vec<_> = registry.handlers_of("order.placed").map(|one| one.name).collect();
    assert_eq!(handlers, ["audit.watch", "inventory.take", "notifications.confirm"]);
    assert_eq!(
        registry.stored_names(),
        [
            "event order.cancelled v1",
            "event order.placed v1",
            "event order.placed v2",
            "event payment.taken v1",
            "job mail.send v1",
            "subscriber audit.watch",
            "subscriber inventory.take",
            "subscriber mail.send",
            "subscriber notifications.confirm",
        ]
    );
}

/// S0-10: two events, jobs or subscribers of one name are faults that show both places, also when the one is the other's alias;
/// three of a name are two faults.
#[test]
fn a_name_that_is_taken_twice_shows_both_places() {
    let registry = Registry::of(
        [event("order.placed", 1, 11), event("order.placed", 1, 12), event("order.placed", 2, 13)],
        [job("mail.send", 1, 21), job("mail.send", 1, 22), job("mail.send", 2, 23)],
        [
            subscriber(on("inventory.take", "order.placed"), 31),
            subscriber(on("inventory.take", "order.placed"), 32),
            subscriber(on("inventory.take", "order.placed"), 33),
            subscriber(aliased(on("a.new", "order.placed"), &["a.old"]), 41),
            subscriber(on("a.old", "order.placed"), 42),
            subscriber(aliased(on("b.one", "order.placed"), &["b.old"]), 51),
            subscriber(aliased(on("b.two", "order.placed"), &["b.old"]), 52),
        ],
    );
    let place = |line: u32| format!("src/handlers.rs:{line} (crate `shop`)");
    let between = |one: u32, other: u32| format!("{} and {}", place(one), place(other));
    assert_eq!(
        texts(&registry),
        [
            format!(
                "two events are named `order.placed` (version 1): {}; give one of them another name or version",
                between(11, 12)
            ),
            format!(
                "two jobs are named `mail.send` (version 1): {}; give one of them another name or version",
                between(21, 22)
            ),
            format!("two handlers answer to `a.old`: {}; give one of them another `name = \"..\"`", between(41, 42)),
            format!("two handlers answer to `b.old`: {}; give one of them another `name = \"..\"`", between(51, 52)),
            format!(
                "two handlers answer to `inventory.take`: {}; give one of them another `name = \"..\"`",
                between(31, 32)
            ),
            format!(
                "two handlers answer to `inventory.take`: {}; give one of them another `name = \"..\"`",
                between(32, 33)
            ),
        ]
    );
}

/// S0-13, B1: a subscriber whose event or job no linked crate declares is a fault that says to name the crate; a wildcard needs no
/// event.
#[test]
fn an_orphan_says_which_crate_is_missing() {
    let registry = Registry::of(
        [],
        [],
        [
            subscriber(on("inventory.take", "order.placed"), 1),
            subscriber(of_job("mail.send"), 2),
            subscriber(on_any("audit.watch", "*"), 3),
        ],
    );
    assert_eq!(
        texts(&registry),
        [
            "subscriber `inventory.take` (src/handlers.rs:1 (crate `shop`)) receives the event `order.placed`, which no linked crate \
             declares: add its crate to `outbox::modules![..]`",
            "subscriber `mail.send` (src/handlers.rs:2 (crate `shop`)) handles the job `mail.send`, which no linked crate declares: \
             add its crate to `outbox::modules![..]`",
        ]
    );
}

/// S0-13: an item that is linked twice from one place (a crate and its unit tests) is one item.
#[test]
fn one_item_linked_twice_is_no_fault() {
    let registry = Registry::of(
        [event("order.placed", 1, 1), event("order.placed", 1, 1)],
        [job("mail.send", 1, 2), job("mail.send", 1, 2)],
        [subscriber(on("inventory.take", "order.placed"), 3), subscriber(on("inventory.take", "order.placed"), 3)],
    );
    assert_eq!(texts(&registry), [""; 0]);
    assert_eq!((registry.events().len(), registry.jobs().len(), registry.subscribers().len()), (1, 1, 1));
}

/// S0-13: state that no `.state(..)` gave is a fault with handler, type, file and line; `build()` reports it before it touches the
/// database.
#[tokio::test]
async fn missing_state_names_handler_type_file_and_line() {
    let shop = Shop::new().await;
    let registry = Registry::linked().with_subscribers(|one| one.name == "inventory.take");
    let error = shop.sandbox.outbox().registry(registry).build().await.unwrap_err();
    let text = error.to_string();
    let BuildError::Wiring(faults) = error else { panic!("{text}") };
    let missing: Vec<_> = faults
        .iter()
        .map(|fault| match fault {
            Fault::MissingState { subscriber: "inventory.take", state, place } => {
                assert_eq!((place.package, place.file), ("outbox", "tests/engine/support.rs"));
                assert!(place.line > 1);
                *state
            }
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(missing, ["engine::support::Effects", "engine::support::Script"]);
    let line = "  - the handler `inventory.take` (tests/engine/support.rs:";
    assert!(text.starts_with("the wiring of this binary is wrong:\n") && text.matches(line).count() == 2, "{text}");
    assert!(text.contains(
        "needs `State<engine::support::Effects>`: say `.state(..)` with a value of this type before `.build()`"
    ));
    assert_eq!(shop.sandbox.number("select count(*) from :schema.subscription").await, 0);
}

/// S0-13, B1: `build()` reports every fault of every kind at once, a line each, and declares nothing.
#[tokio::test]
async fn every_fault_is_reported_at_once() {
    let shop = Shop::new().await;
    let linked = Registry::linked();
    let take = linked.subscribers().iter().copied().find(|one| one.name == "inventory.take").unwrap();
    let registry = Registry::of(
        [event("order.placed", 1, 1), event("order.placed", 1, 2)],
        [job("mail.send", 1, 3), job("mail.send", 1, 4)],
        [
            take,
            subscriber(on("a.one", "order.placed"), 5),
            subscriber(on("a.one", "order.placed"), 6),
            subscriber(on("a.two", "order.lost"), 7),
            subscriber(of_job("mail.lost"), 8),
        ],
    );
    let error = shop.sandbox.outbox().registry(registry).build().await.unwrap_err();
    let text = error.to_string();
    let BuildError::Wiring(faults) = error else { panic!("{text}") };
    assert!(matches!(
        faults.as_slice(),
        [
            Fault::DuplicateEvent { .. },
            Fault::DuplicateJob { .. },
            Fault::DuplicateSubscriber { .. },
            Fault::UnknownEvent { .. },
            Fault::UnknownJob { .. },
            Fault::MissingState { .. },
            Fault::MissingState { .. },
        ]
    ));
    assert_eq!(text.lines().filter(|line| line.starts_with("  - ")).count(), 7, "{text}");
    assert_eq!(shop.sandbox.number("select count(*) from :schema.subscription").await, 0);
}
