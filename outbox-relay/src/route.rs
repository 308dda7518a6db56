//! Subjects and routing keys: words joined by dots, which every broker can route by and none can misread.

use std::fmt::Write as _;

use outbox::{Envelope, WireName};

use crate::message::Unsendable;

/// Longest route, in bytes: what AMQP's routing key can hold.
pub const LONGEST_ROUTE: usize = 255;

/// How the route of a message is made: `prefix.order.placed.v1`, and the subject's id behind it when that is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Routing {
    /// Words joined by dots, or empty.
    pub(crate) prefix: String,
    /// Whether the id of the event's subject is the last word.
    pub(crate) by_subject: bool,
}

impl Routing {
    /// The subject or routing key of this event.
    pub(crate) fn of(&self, envelope: &Envelope, name: &WireName) -> Result<String, Unsendable> {
        let mut route = String::with_capacity(64);
        if !self.prefix.is_empty() {
            route.push_str(&self.prefix);
            route.push('.');
        }
        // Writing to a string cannot fail.
        let _ = write!(route, "{name}");
        if self.by_subject {
            route.push('.');
            match envelope.subject.id.as_deref() {
                Some(id) => push_word(&mut route, id),
                None => route.push('%'),
            }
        }
        if route.len() > LONGEST_ROUTE {
            return Err(Unsendable::RouteTooLong(route.len()));
        }
        Ok(route)
    }
}

/// Whether this can stand in front of every route.
pub(crate) fn is_prefix(prefix: &str) -> bool {
    prefix.is_empty()
        || prefix.len() <= 60 && prefix.split('.').all(|word| !word.is_empty() && word.bytes().all(is_plain))
}

/// Any text as one word: what is not a letter, a digit, `-` or `_` is written as `%2E`, byte by byte. Empty text is `%` alone, and so is an
/// event without a subject.
fn push_word(route: &mut String, text: &str) {
    if text.is_empty() {
        route.push('%');
    }
    for byte in text.bytes() {
        if is_plain(byte) {
            route.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(route, "%{byte:02X}");
        }
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::tests::envelope;

    fn of(routing: &Routing, envelope: &Envelope) -> Result<String, Unsendable> {
        routing.of(envelope, &envelope.wire_name().unwrap())
    }

    fn by_subject(id: &str) -> Result<String, Unsendable> {
        let mut envelope = envelope();
        envelope.subject.id = Some(id.to_owned());
        of(&Routing { prefix: "shop".to_owned(), by_subject: true }, &envelope)
    }

    #[test]
    fn a_route_is_prefix_name_version_and_subject() {
        assert_eq!(of(&Routing::default(), &envelope()).unwrap(), "order.placed.v1");
        let prefixed = Routing { prefix: "eu.shop".to_owned(), by_subject: false };
        assert_eq!(of(&prefixed, &envelope()).unwrap(), "eu.shop.order.placed.v1");
        assert_eq!(by_subject("4711").unwrap(), "shop.order.placed.v1.4711");
    }

    /// What a broker takes for a wildcard, for a separator or for the end of its line is escaped.
    #[test]
    fn what_brokers_forbid_is_escaped() {
        for (id, word) in [("a.b", "a%2Eb"), (">", "%3E"), ("*", "%2A"), ("#", "%23"), ("a b\r\n", "a%20b%0D%0A")] {
            assert_eq!(by_subject(id).unwrap(), format!("shop.order.placed.v1.{word}"));
        }
        assert_eq!(by_subject("").unwrap(), "shop.order.placed.v1.%");
        assert_eq!(by_subject("\u{e9}%").unwrap(), "shop.order.placed.v1.%C3%A9%25");
    }

    #[test]
    fn a_route_that_no_broker_can_hold_is_refused() {
        let longest = LONGEST_ROUTE - "shop.order.placed.v1.".len();
        assert_eq!(by_subject(&"x".repeat(longest)).unwrap().len(), LONGEST_ROUTE);
        assert!(matches!(by_subject(&"x".repeat(longest + 1)), Err(Unsendable::RouteTooLong(256))));
    }

    #[test]
    fn prefixes_hold_plain_words() {
        for good in ["", "shop", "eu.shop-1", "A_b"] {
            assert!(is_prefix(good), "{good}");
        }
        for bad in [".", "shop.", ".shop", "a..b", "a b", "a*", "shop.>", "#", "\u{e9}", &"x".repeat(61)] {
            assert!(!is_prefix(bad), "{bad}");
        }
    }

    proptest! {
        /// Different subjects have different words, and each is one word of harmless bytes.
        #[test]
        fn words_are_one_word_and_tell_subjects_apart(a in ".{0,20}", b in ".{0,20}") {
            let (one, other) = (by_subject(&a).unwrap(), by_subject(&b).unwrap());
            prop_assert_eq!(a == b, one == other);
            let words: Vec<_> = one.split('.').collect();
            prop_assert_eq!(words.len(), 5);
            prop_assert!(words.iter().all(|word| !word.is_empty() && word.bytes().all(|byte| is_plain(byte) || byte == b'%')));
        }
    }
}
