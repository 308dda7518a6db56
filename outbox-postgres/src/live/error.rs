//! Why a live stream is refused.

use outbox_core::name;

/// A live stream that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A pattern that means no event.
    #[error("`{pattern}` is no pattern of events: {}", advice(.pattern))]
    Pattern {
        /// As it was given.
        pattern: String,
    },
    /// No pattern at all.
    #[error("this live stream names no events: say `.events([\"order.*\"])`, or `.events([\"*\"])` for all of them")]
    NoEvents,
    /// A buffer that holds nothing.
    #[error("a buffer of 0 events holds nothing: say `.buffer(256)`, or leave it out")]
    NoBuffer,
    /// There is no runtime to read on.
    #[error("a live stream is read by a task: call `subscribe()` inside of a tokio runtime")]
    NoRuntime,
}

fn advice(pattern: &str) -> String {
    match name::suggestion(pattern) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "say a name as `order.placed`, the beginning of names as `order.*`, or `*`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_write() {
        let said = |pattern: &str| LiveError::Pattern { pattern: pattern.to_owned() }.to_string();
        assert_eq!(said("OrderPlaced"), "`OrderPlaced` is no pattern of events: did you mean `order.placed`?");
        assert!(said("order*").ends_with("say a name as `order.placed`, the beginning of names as `order.*`, or `*`"));
    }
}
