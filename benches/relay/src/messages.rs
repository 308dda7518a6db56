//! The event of the measurement, and the same as a message that was made beforehand.

use outbox::event;

/// An event of usual size.
#[event("order.placed")]
pub(crate) struct OrderPlaced {
    #[subject]
    pub(crate) order_id: i64,
    customer: String,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Line {
    article: String,
    count: u32,
    price_cents: u64,
}

impl OrderPlaced {
    pub(crate) fn number(order_id: i64) -> Self {
        let line = |n: u32| Line { article: format!("article {n}"), count: n, price_cents: 1_999 };
        Self { order_id, customer: format!("customer {}", order_id % 100), lines: (1..4).map(line).collect() }
    }
}

/// What the relay sends of an event, made before the clock runs.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) attributes: Vec<(&'static str, String)>,
    pub(crate) payload: Vec<u8>,
}

/// Where all of them go.
pub(crate) const ROUTE: &str = "bench.order.placed.v1";
/// As many are under way at once, on both sides.
pub(crate) const WINDOW: usize = 256;

/// So many, each with an id of its own and the attributes that the relay gives them.
pub(crate) fn made(count: u32) -> Vec<Message> {
    (0..count).map(message).collect()
}

fn message(number: u32) -> Message {
    // Of the length and the letters of a ULID.
    let id = format!("01K{number:023}");
    let attributes = vec![
        ("specversion", "1.0".to_owned()),
        ("id", id.clone()),
        ("source", "/bench".to_owned()),
        ("type", format!("{}.v1", OrderPlaced::NAME)),
        ("time", "2026-11-30T10:00:00.000000Z".to_owned()),
        ("correlationid", id.clone()),
        ("subject", number.to_string()),
    ];
    let payload = serde_json::to_vec(&OrderPlaced::number(number.into())).unwrap_or_default();
    Message { id, attributes, payload }
}
