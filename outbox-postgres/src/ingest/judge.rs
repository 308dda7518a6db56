//! Whether an event that came can be one here, as far as this binary knows by itself: by its registry, without the catalogue.

use outbox_core::{Envelope, EventDescriptor, Source, Versions, name};

use super::arrival::{QuarantineClass, Unfit};
use crate::error::told;
use crate::jsonb;
use crate::outbox::Outbox;

/// An event that can be one here, with its origin; or why not.
pub(super) type Judged = Result<Envelope, Unfit>;

pub(super) fn judged(outbox: &Outbox, source: &str, read: Judged) -> Judged {
    let mut event = read?;
    judge(outbox, &event)?;
    event.metadata.origin = Some(source.to_owned());
    Ok(event)
}

/// Says why not.
fn judge(outbox: &Outbox, event: &Envelope) -> Result<(), Unfit> {
    let unfit = |class, reason: String| Err(Unfit::of(event, class, reason));
    let limit = outbox.payload_limit();
    let size = event.payload.as_json().len();
    if size > limit {
        return unfit(
            QuarantineClass::WrongPayload,
            format!("its payload has {size} bytes, of which {limit} are allowed"),
        );
    }
    if let Some(refusal) = jsonb::refusal(event.payload.as_json()) {
        return unfit(QuarantineClass::WrongPayload, format!("PostgreSQL cannot store its payload: {refusal}"));
    }
    // A map of texts is JSON.
    let context = serde_json::to_string(&event.metadata).unwrap_or_default();
    if let Some(refusal) = jsonb::refusal(&context) {
        return unfit(QuarantineClass::Undecodable, format!("PostgreSQL cannot store its context: {refusal}"));
    }
    let declared: Vec<_> = declared(outbox, &event.name).collect();
    let mut taken: Vec<u32> = declared.iter().flat_map(|one| one.versions).copied().collect();
    taken.extend(declared.iter().map(|one| one.version));
    if !declared.is_empty() && !taken.contains(&event.version) {
        return unfit(QuarantineClass::UnsupportedVersion, unsupported(event, &mut taken));
    }
    decodes(outbox, event, &declared).or_else(|reason| unfit(QuarantineClass::WrongPayload, reason))
}

/// The types that this binary declares under a name.
fn declared<'a>(outbox: &'a Outbox, event: &'a str) -> impl Iterator<Item = &'static EventDescriptor> + 'a {
    outbox.registry().events().iter().copied().filter(move |one| one.name == event)
}

fn unsupported(event: &Envelope, taken: &mut Vec<u32>) -> String {
    taken.sort_unstable();
    taken.dedup();
    let known = taken.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let what = if taken.last().is_some_and(|newest| event.version > *newest) {
        "a newer producer than this binary; deploy one that knows it, and redrive"
    } else {
        "no type of this binary is read from it"
    };
    format!("version {} of `{}` is not among those that are known here ({known}): {what}", event.version, event.name)
}

/// It is read as the type of its own version, and as what those who receive it make of it: at least one of them gets it.
fn decodes(outbox: &Outbox, event: &Envelope, declared: &[&'static EventDescriptor]) -> Result<(), String> {
    let read = |one: &&EventDescriptor| (one.check)(event.version, &event.payload).map_err(|error| told(&error));
    if let Some(own) = declared.iter().find(|one| one.version == event.version) {
        read(own)?;
    }
    let wanted = wanted(outbox, event);
    let readers = declared.iter().filter(|one| wanted.contains(&one.version) && one.versions.contains(&event.version));
    let mut refused = None;
    for one in readers {
        match read(one) {
            Ok(()) => return Ok(()),
            Err(error) => refused = Some(error),
        }
    }
    refused.map_or(Ok(()), Err)
}

/// The versions as which this binary's subscribers take the event; the first of a handler's is its type's own.
fn wanted(outbox: &Outbox, event: &Envelope) -> Vec<u32> {
    let own = |versions: Versions| match versions {
        Versions::Only(versions) if versions.contains(&event.version) => versions.first().copied(),
        Versions::Only(_) | Versions::Any => None,
    };
    let receives = |source: Source| matches!(source, Source::Event(pattern) if name::matches(pattern, &event.name));
    let handlers = outbox.registry().subscribers().iter().filter(|one| receives(one.source));
    handlers.filter_map(|one| own(one.versions)).collect()
}
