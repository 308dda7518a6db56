//! The last events, for streams that come back.

use std::collections::VecDeque;
use std::sync::Arc;

use outbox_core::{Envelope, EventId};

/// Most events, and most bytes of payload, that are remembered. The last event always is.
const EVENTS: usize = 1_024;
const BYTES: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Ring {
    events: VecDeque<Arc<Envelope>>,
    bytes: usize,
}

impl Ring {
    pub(crate) fn push(&mut self, event: Arc<Envelope>) {
        self.bytes += event.payload.as_json().len();
        self.events.push_back(event);
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= oldest.payload.as_json().len();
        }
    }

    /// Something is missing behind what it holds, so nobody can go on from there.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn latest(&self) -> Option<EventId> {
        self.events.back().map(|event| event.id)
    }

    /// What came behind this event, when it is remembered.
    pub(crate) fn behind(&self, id: EventId) -> Option<impl Iterator<Item = &Arc<Envelope>>> {
        let at = self.events.iter().rposition(|event| event.id == id)?;
        Some(self.events.range(at + 1..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use outbox_core::{Metadata, Payload, Subject};
    use uuid::Uuid;

    fn event(number: u128, size: usize) -> Arc<Envelope> {
        Arc::new(Envelope {
            id: EventId::from(Uuid::from_u128(number)),
            name: "order.placed".into(),
            version: 1,
            occurred_at: DateTime::UNIX_EPOCH,
            subject: Subject::default(),
            metadata: Metadata::default(),
            payload: Payload::from_json("x".repeat(size)),
        })
    }

    fn id(number: u128) -> EventId {
        EventId::from(Uuid::from_u128(number))
    }

    /// S1-40: what was forgotten is known to be, and what is remembered is all of it.
    #[test]
    fn it_remembers_the_last_events_and_no_more() {
        let mut ring = Ring::default();
        for number in 0..2_000 {
            ring.push(event(number, 10));
        }
        assert!(ring.behind(id(2_000 - 1_025)).is_none());
        assert_eq!(ring.behind(id(2_000 - 1_024)).unwrap().count(), 1_023);
        assert_eq!(ring.behind(id(1_999)).unwrap().count(), 0);
        assert_eq!((ring.events.len(), ring.bytes), (1_024, 10_240));
    }

    #[test]
    fn it_is_bounded_in_bytes() {
        let mut ring = Ring::default();
        for number in 0..10 {
            ring.push(event(number, 300 * 1024));
        }
        assert_eq!((ring.events.len(), ring.bytes), (3, 900 * 1024));
        ring.push(event(10, 5 * 1024 * 1024));
        assert_eq!((ring.events.len(), ring.latest()), (1, Some(id(10))));
        ring.push(event(11, 1));
        assert_eq!((ring.events.len(), ring.bytes), (1, 1));
    }
}
