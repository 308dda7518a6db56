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
    /// A pattern that means none of the events that are linked into this program: its stream would be silent for ever.
    #[error(
        "`{pattern}` means no event that is linked into this program; linked are {}: if another crate declares it, name that crate in \
         `outbox::modules![..]`",
        listed(.known)
    )]
    UnknownEvents {
        /// As it was given.
        pattern: String,
        /// The names of those that are.
        known: Vec<&'static str>,
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

/// The first of them, by name.
fn listed(known: &[&str]) -> String {
    const MOST: usize = 20;
    let quoted: Vec<_> = known.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let more = if known.len() > MOST { format!(" and {} more", known.len() - MOST) } else { String::new() };
    format!("{}{more}", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_write() {
        let said = |pattern: &str| LiveError::Pattern { pattern: pattern.to_owned() }.to_string();
        assert_eq!(said("OrderPlaced"), "`OrderPlaced` is no pattern of events: did you mean `order.placed`?");
        let known = vec!["order.paid", "order.placed"];
        let unknown = LiveError::UnknownEvents { pattern: "oder.*".to_owned(), known };
        assert!(unknown.to_string().starts_with(
            "`oder.*` means no event that is linked into this program; linked are `order.paid`, `order.placed`: "
        ));
        assert!(said("order*").ends_with("say a name as `order.placed`, the beginning of names as `order.*`, or `*`"));
    }
}
