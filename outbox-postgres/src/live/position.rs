//! Where a stream stands, as text that a client can bring back.

use std::fmt;
use std::str::FromStr;

use outbox_core::{EventId, ParseIdError};

/// Where a live stream stands, for [`LiveSubscription::resume`](crate::LiveSubscription::resume). Its text is what a client keeps, as the
/// id of the last server-sent event: the id of the last event that the stream has passed, and which feed it was.
///
/// It is of use in the process that made it, for as long as that remembers the event: events come in another order elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LivePosition {
    pub(crate) event: EventId,
    /// Drawn by each feed as it begins.
    pub(crate) feed: u32,
}

impl LivePosition {
    /// The last event that the stream has passed, whether it was shown or not.
    #[must_use]
    pub fn event_id(&self) -> EventId {
        self.event
    }
}

/// `01ARZ3NDEKTSV4RRFFQ69G5FAV-2f6c11d0`
impl fmt::Display for LivePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}", self.event, self.feed)
    }
}

impl FromStr for LivePosition {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        // Whatever is no position is refused in the words of the id in it.
        let (event, feed) = text.rsplit_once('-').unwrap_or((text, ""));
        let whole = |_| text.parse::<EventId>().err();
        match u32::from_str_radix(feed, 16).map_err(whole) {
            Ok(feed) => Ok(Self { event: event.parse()?, feed }),
            Err(Some(refused)) => Err(refused),
            // An id alone, of no feed.
            Err(None) => Ok(Self { event: text.parse()?, feed: 0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    proptest! {
        #[test]
        fn text_round_trips(bits in any::<u128>(), feed in any::<u32>()) {
            let position = LivePosition { event: EventId::from(Uuid::from_u128(bits)), feed };
            prop_assert_eq!(position.to_string().parse::<LivePosition>(), Ok(position));
        }

        /// What a client brings back can be anything.
        #[test]
        fn any_text_is_judged(text in ".{0,60}") {
            let _ = text.parse::<LivePosition>();
        }
    }
}
