//! A message as the event that it is: CloudEvents 1.0 in binary mode, as a relay writes it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use outbox::ingest::{QuarantineClass, Unfit};
use outbox::{Envelope, EventId, Metadata, Payload, Subject, WireName};
use serde::de::IgnoredAny;

use crate::kept::{CONTENT_TYPE, Kept, MESSAGE_ID};

/// Longest piece of a header that a reason quotes.
const QUOTED: usize = 120;

/// The event; or why it is none, with what is known of it all the same.
pub(crate) fn read(kept: &Kept, body: &[u8]) -> Result<Envelope, Unfit> {
    let id = id(kept);
    let wire_name = kept.get("type").map(str::parse::<WireName>);
    let unfit = |(class, reason): Why| Unfit {
        class,
        reason,
        event_id: id.as_ref().ok().copied(),
        event_type: match &wire_name {
            Some(Ok(name)) => Some(name.name().to_owned()),
            _ => kept.get("type").map(quoted),
        },
        event_version: wire_name.as_ref().and_then(|name| name.as_ref().ok()).map(WireName::version),
    };
    let read = || -> Result<Envelope, Why> {
        headers(kept)?;
        let name = match &wire_name {
            Some(Ok(name)) => name,
            Some(Err(error)) => {
                let said = kept.get("type").map(quoted).unwrap_or_default();
                return Err((
                    QuarantineClass::UnknownType,
                    format!("its type `{said}` is that of no event here: {error}"),
                ));
            }
            None => return Err(undecodable("it says no type (`ce-type`, `cloudEvents:type`)")),
        };
        let id = id.clone().map_err(|why| (QuarantineClass::NotAnId, why))?;
        Ok(Envelope {
            id,
            name: name.name().to_owned(),
            version: name.version(),
            occurred_at: time(kept)?,
            subject: Subject { kind: first_word(name.name()), id: kept.owned("subject") },
            metadata: metadata(kept)?,
            payload: payload(kept, body)?,
        })
    };
    read().map_err(unfit)
}

type Why = (QuarantineClass, String);

fn undecodable(reason: impl Into<String>) -> Why {
    (QuarantineClass::Undecodable, reason.into())
}

fn headers(kept: &Kept) -> Result<(), Why> {
    if let Some(name) = kept.undecodable() {
        return Err(undecodable(format!("its header `{name}` is no text")));
    }
    match kept.get("specversion") {
        None | Some("1.0") => Ok(()),
        Some(other) => {
            Err(undecodable(format!("it is of version `{}` of CloudEvents, and 1.0 is read", quoted(other))))
        }
    }
}

fn id(kept: &Kept) -> Result<EventId, String> {
    let said = kept.get("id").or_else(|| kept.get(MESSAGE_ID)).ok_or("it has no id")?;
    said.parse().map_err(|error: outbox::ParseIdError| error.to_string())
}

fn first_word(name: &str) -> String {
    name.split('.').next().unwrap_or(name).to_owned()
}

/// When it occurred; now, where it does not say.
fn time(kept: &Kept) -> Result<DateTime<Utc>, Why> {
    let Some(said) = kept.get("time") else { return Ok(Utc::now()) };
    let time = DateTime::parse_from_rfc3339(said);
    time.map(Into::into).map_err(|_| undecodable(format!("its time `{}` is none of RFC 3339", quoted(said))))
}

fn metadata(kept: &Kept) -> Result<Metadata, Why> {
    let headers: BTreeMap<String, String> = match kept.get("headers") {
        None => BTreeMap::new(),
        Some(said) => {
            serde_json::from_str(said).map_err(|_| undecodable("its attribute `headers` is no JSON object of texts"))?
        }
    };
    let mut metadata = Metadata::new();
    metadata.correlation = kept.owned("correlationid");
    // Somebody else's id need not be one of ours.
    metadata.causation = kept.get("causationid").and_then(|said| said.parse().ok());
    metadata.actor = kept.owned("actor");
    metadata.tenant = kept.owned("tenant");
    metadata.traceparent = kept.owned("traceparent");
    metadata.tracestate = kept.owned("tracestate");
    metadata.headers = headers;
    Ok(metadata)
}

fn payload(kept: &Kept, body: &[u8]) -> Result<Payload, Why> {
    match kept.get(CONTENT_TYPE) {
        Some(said) if !is_json(said) => {
            return Err(undecodable(format!("its body is `{}`, and JSON is read", quoted(said))));
        }
        _ => {}
    }
    let text = std::str::from_utf8(body).map_err(|_| undecodable("its body is no UTF-8"))?;
    // What is wrong and where, and nothing of what stands there.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| undecodable(format!("its body is no JSON: {error}")))?;
    Ok(Payload::from_json(text))
}

/// `application/json`, or anything that ends in `+json` but an event in structured mode, whose attributes stand in its body.
fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json") && !kind.starts_with("application/cloudevents")
}

fn quoted(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(QUOTED).collect()
}

#[cfg(test)]
#[path = "read/tests.rs"]
mod tests;
