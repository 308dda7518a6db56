//! Binaries that link other things: registries made by hand, beside each other in one test binary.

use outbox::{Registry, Schedule, Settings, SubscriberDescriptor};
use outbox_core::subscriber::Place;
use outbox_core::{BoxFuture, Delivery, Guard, Outcome, Source, Versions};

use crate::support::Script;

/// Two more events to receive.
#[outbox::event("product.catalogued")]
pub struct ProductCatalogued;

#[outbox::event("order.shelved")]
pub struct OrderShelved;

/// A handler of an event (or a pattern) that notes its original name in the script, then answers what the script says.
pub const fn on(name: &'static str, pattern: &'static str) -> SubscriberDescriptor {
    handler(name, Source::Event(pattern), Versions::Only(&[1]))
}

/// A handler of a pattern, which takes any version.
pub const fn on_any(name: &'static str, pattern: &'static str) -> SubscriberDescriptor {
    handler(name, Source::Event(pattern), Versions::Any)
}

/// A handler of a job.
pub const fn of_job(name: &'static str) -> SubscriberDescriptor {
    handler(name, Source::Job(name), Versions::Only(&[1]))
}

/// A scheduled function.
pub const fn scheduled(name: &'static str, schedule: Schedule) -> SubscriberDescriptor {
    handler(name, Source::Schedule(schedule), Versions::Only(&[1]))
}

const fn handler(name: &'static str, source: Source, versions: Versions) -> SubscriberDescriptor {
    SubscriberDescriptor {
        name,
        aliases: &[],
        source,
        in_transaction: false,
        versions,
        guard: Guard::None,
        idempotent: Some("it only notes"),
        settings: Settings::DEFAULT,
        requires: |_| {},
        call: noted,
        place: at(1),
    }
}

/// A place in a crate that is not there.
pub const fn at(line: u32) -> Place {
    Place { package: "shop", module_path: "shop::handlers", file: "src/handlers.rs", line }
}

fn noted(delivery: Delivery<'_>) -> BoxFuture<'_, Outcome> {
    Box::pin(async move {
        let item = delivery.item();
        let original = item.handler;
        let Some(script) = delivery.state().get::<Script>() else { return Outcome::Done };
        script.note(original);
        script.note(format!("{original} {}", item.envelope.name));
        Outcome::Done
    })
}

/// A binary that links every event and job of this test binary, and these handlers.
pub fn linking(handlers: impl IntoIterator<Item = SubscriberDescriptor>) -> Registry {
    let all = Registry::linked();
    let handlers: Vec<&'static SubscriberDescriptor> =
        handlers.into_iter().map(|one| &*Box::leak(Box::new(one))).collect();
    Registry::of(all.events().iter().copied(), all.jobs().iter().copied(), handlers)
}

/// A binary that links no handler, only events.
pub fn only_events() -> Registry {
    linking([])
}
