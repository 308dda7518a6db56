//! From an event to what is sent for it, and for whom.

use chrono::SecondsFormat;
use outbox::{BoxError, Envelope};
use serde::Serialize;
use serde_json::value::RawValue;

/// What is sent for an event: its tenant, whose endpoints it goes to, and the JSON that they get.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub(crate) tenant: String,
    pub(crate) body: String,
}

impl Outgoing {
    /// This value as JSON, to the endpoints of this tenant.
    ///
    /// # Errors
    /// When the value is no JSON.
    pub fn json<T: Serialize>(tenant: impl Into<String>, body: &T) -> Result<Self, serde_json::Error> {
        Ok(Self { tenant: tenant.into(), body: serde_json::to_string(body)? })
    }

    /// What is sent unless the application says otherwise: `{"type": "issue.created", "timestamp": "..", "data": <the payload>}`, as
    /// [Standard Webhooks] recommends, to the endpoints of the tenant in the event's context. An event without tenant goes nowhere.
    ///
    /// # Errors
    /// When the event's payload is no JSON.
    ///
    /// [Standard Webhooks]: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    pub fn standard(event: &Envelope) -> Result<Option<Self>, serde_json::Error> {
        #[derive(Serialize)]
        struct Body<'e> {
            r#type: &'e str,
            timestamp: String,
            data: &'e RawValue,
        }

        let Some(tenant) = &event.metadata.tenant else { return Ok(None) };
        let data: &RawValue = serde_json::from_str(event.payload.as_json())?;
        let timestamp = event.occurred_at.to_rfc3339_opts(SecondsFormat::Micros, true);
        Self::json(tenant, &Body { r#type: &event.name, timestamp, data }).map(Some)
    }
}

/// Says what is sent for an event, or that nothing is.
pub(crate) type Route = dyn Fn(&Envelope) -> Result<Option<Outgoing>, BoxError> + Send + Sync;

/// The patterns that mean this event: its name, `issue.*` for each of its beginnings, and `*`.
pub(crate) fn patterns(event: &str) -> Vec<String> {
    let beginnings = event.match_indices('.').map(|(at, _)| format!("{}.*", &event[..at]));
    [event.to_owned(), "*".to_owned()].into_iter().chain(beginnings).collect()
}

/// Whether this can be the name of events, or a pattern of them.
pub(crate) fn is_pattern(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let name = text.strip_suffix(".*").unwrap_or(text);
    text == "*" || (text.len() <= 200 && text.contains('.') && name.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_meant_by_its_name_and_each_of_its_beginnings() {
        assert_eq!(patterns("issue.created"), ["issue.created", "*", "issue.*"]);
        assert_eq!(
            patterns("webhook.endpoint.disabled"),
            ["webhook.endpoint.disabled", "*", "webhook.*", "webhook.endpoint.*"]
        );
        assert!(patterns("issue.created").iter().all(|pattern| is_pattern(pattern)));
    }

    #[test]
    fn what_can_be_no_event_is_no_pattern() {
        for odd in [
            "",
            "issue",
            "Issue.created",
            "issue.",
            ".created",
            "issue.*.x",
            "*.created",
            "issue.created ",
            "issue..created",
            "issue.**",
        ] {
            assert!(!is_pattern(odd), "{odd}");
        }
        for good in ["issue.created", "issue.*", "webhook.endpoint.*", "*", "a1.b_2"] {
            assert!(is_pattern(good), "{good}");
        }
    }
}
