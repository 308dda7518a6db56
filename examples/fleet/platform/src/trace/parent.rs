//! The header `traceparent`.

use std::fmt;
use std::str::FromStr;

/// A span of a trace, as the header `traceparent` names it: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The trace.
    pub trace: u128,
    /// The span of it.
    pub span: u64,
}

impl Parent {
    /// The beginning of a new trace.
    #[must_use]
    pub fn root() -> Self {
        Self { trace: rand::random::<u128>() | 1, span: rand::random::<u64>() | 1 }
    }

    /// Another span of the same trace.
    #[must_use]
    pub fn another(self) -> Self {
        Self { span: rand::random::<u64>() | 1, ..self }
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-01", self.trace, self.span)
    }
}

/// Why a text is no `traceparent` of a trace that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no `traceparent` of a sampled trace, as `00-<32 hex digits>-<16 hex digits>-01`")]
pub struct NoParent;

impl FromStr for Parent {
    type Err = NoParent;

    /// Version 00 of the format, and only traces that are sampled: the others are nobody's to write down.
    fn from_str(text: &str) -> Result<Self, NoParent> {
        let parts: Vec<_> = text.split('-').collect();
        let [version, trace, span, flags] = parts.as_slice() else { return Err(NoParent) };
        let is_hex = |part: &str, length| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        if *version != "00" || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
            return Err(NoParent);
        }
        let trace = u128::from_str_radix(trace, 16).map_err(|_| NoParent)?;
        let span = u64::from_str_radix(span, 16).map_err(|_| NoParent)?;
        let is_sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        if trace == 0 || span == 0 || !is_sampled { Err(NoParent) } else { Ok(Self { trace, span }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn it_is_read_and_written() {
        let parent: Parent = TEXT.parse().unwrap();
        assert_eq!(parent.to_string(), TEXT);
        let other = parent.another();
        assert_eq!(other.trace, parent.trace);
        assert_ne!(other.span, parent.span);
        assert_eq!(Parent::root().to_string().parse::<Parent>().map(drop), Ok(()));
    }

    #[test]
    fn what_is_none_or_not_sampled_is_left_alone() {
        for text in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(text.parse::<Parent>(), Err(NoParent), "{text}");
        }
    }
}
