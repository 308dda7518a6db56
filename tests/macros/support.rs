//! Finding what was registered, and running it without a database.

use outbox_core::envelope::Payload;
use outbox_core::{
    Delivery, Envelope, EventId, Item, Metadata, Outcome, Registry, Subject, SubscriberDescriptor, TypeMap, Versions,
};

pub(crate) fn handler(name: &str) -> &'static SubscriberDescriptor {
    Registry::linked().subscribers().iter().find(|handler| handler.name == name).expect("a registered handler")
}

pub(crate) fn event_id() -> EventId {
    "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("a ULID")
}

pub(crate) fn envelope(name: &str, payload: &str) -> Envelope {
    Envelope {
        id: event_id(),
        name: name.to_owned(),
        version: 1,
        occurred_at: std::time::SystemTime::UNIX_EPOCH.into(),
        subject: Subject::default(),
        metadata: Metadata::default(),
        payload: Payload::from_json(payload),
    }
}

/// One execution of the handler of this name, for a payload that came from the database.
pub(crate) async fn run(name: &str, payload: &str, state: &TypeMap) -> Outcome {
    let handler = handler(name);
    let mut envelope = envelope("test.event", payload);
    if let Versions::Only([version, ..]) = handler.versions {
        envelope.version = *version;
    }
    let item = Item {
        envelope: std::sync::Arc::new(envelope),
        attempt: 3,
        effect: event_id(),
        handler: handler.original_name(),
    };
    let runtime = TypeMap::default();
    (handler.call)(Delivery::new(&[item], state, &runtime)).await
}
