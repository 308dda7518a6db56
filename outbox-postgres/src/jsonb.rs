//! JSON that `jsonb` would refuse, found before anything is sent: an error of the server would abort the caller's transaction.

use std::fmt;

/// Deepest nesting. `serde_json` reads no deeper than this, so a deeper payload could be stored and never be handled.
const MAX_DEPTH: usize = 127;
/// Longest number, in characters and zeros that its exponent stands for. PostgreSQL's `numeric` holds 131,072 digits in
/// front of the point and 16,383 behind it.
const MAX_NUMBER: usize = 16_000;

/// Why `jsonb` does not take a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A string holds the character U+0000.
    Nul,
    /// A string holds half of a surrogate pair.
    LoneSurrogate,
    /// Arrays and objects are nested deeper than 127.
    TooDeep,
    /// A number has more digits, or a larger exponent, than `numeric` holds.
    NumberOutOfRange,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nul => {
                "it holds the character U+0000, which PostgreSQL cannot store in text: remove it or encode the bytes"
            }
            Self::LoneSurrogate => "it holds half of a surrogate pair, which is no character",
            Self::TooDeep => "it is nested deeper than 127 levels",
            Self::NumberOutOfRange => "it holds a number with more digits or a larger exponent than PostgreSQL stores",
        })
    }
}

/// Why `jsonb` would refuse this text, which is JSON already. One pass over its bytes.
pub(crate) fn refusal(json: &str) -> Option<Refusal> {
    let bytes = json.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(Refusal::TooDeep);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => match string(&bytes[at + 1..]) {
                Ok(length) => at += length,
                Err(refusal) => return Some(refusal),
            },
            b'-' | b'0'..=b'9' => match number(&json[at..]) {
                Ok(length) => at += length - 1,
                Err(refusal) => return Some(refusal),
            },
            _ => {}
        }
        at += 1;
    }
    None
}

/// Length of a string's rest, its closing quote included.
fn string(rest: &[u8]) -> Result<usize, Refusal> {
    let mut at = 0;
    while at < rest.len() && rest[at] != b'"' {
        if rest[at] == 0 {
            return Err(Refusal::Nul);
        }
        if rest[at] != b'\\' {
            at += 1;
        } else if rest.get(at + 1) == Some(&b'u') {
            at += escape(&rest[at..])?;
        } else {
            at += 2;
        }
    }
    Ok(at + 1)
}

/// Length of a `\u` escape, both halves of a pair included.
fn escape(rest: &[u8]) -> Result<usize, Refusal> {
    match unit(rest) {
        Some(0) => Err(Refusal::Nul),
        Some(0xd800..=0xdbff) => match rest.get(6..).and_then(unit) {
            Some(0xdc00..=0xdfff) => Ok(12),
            _ => Err(Refusal::LoneSurrogate),
        },
        Some(0xdc00..=0xdfff) => Err(Refusal::LoneSurrogate),
        _ => Ok(6),
    }
}

fn unit(rest: &[u8]) -> Option<u16> {
    let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Length of a number.
fn number(rest: &str) -> Result<usize, Refusal> {
    let length = rest.bytes().take_while(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')).count();
    let exponent = rest[..length].split(['e', 'E']).nth(1).map_or(Some(0), |exponent| exponent.parse::<i64>().ok());
    let zeros = exponent.map(i64::unsigned_abs).and_then(|zeros| usize::try_from(zeros).ok());
    let fits = zeros.is_some_and(|zeros| zeros.saturating_add(length) <= MAX_NUMBER);
    if fits { Ok(length) } else { Err(Refusal::NumberOutOfRange) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_jsonb_refuses_is_named() {
        assert_eq!(refusal(r#"{"a":"x\u0000y"}"#), Some(Refusal::Nul));
        assert_eq!(refusal(r#"{"x\u0000":1}"#), Some(Refusal::Nul));
        assert_eq!(refusal(r#"["\ud800"]"#), Some(Refusal::LoneSurrogate));
        assert_eq!(refusal(r#"["\udc00"]"#), Some(Refusal::LoneSurrogate));
        assert_eq!(refusal(r#"["\ud800\u0041"]"#), Some(Refusal::LoneSurrogate));
        assert_eq!(refusal("[1e999999]"), Some(Refusal::NumberOutOfRange));
        assert_eq!(refusal(&format!("[0.{}e-9000]", "1".repeat(9_000))), Some(Refusal::NumberOutOfRange));
        assert_eq!(refusal(&format!("[{}]", "9".repeat(20_000))), Some(Refusal::NumberOutOfRange));
        assert_eq!(refusal(&format!("{}{}", "[".repeat(128), "]".repeat(128))), Some(Refusal::TooDeep));
    }

    #[test]
    fn what_only_looks_like_it_passes() {
        assert_eq!(refusal(r#"{"a":"x\\u0000y"}"#), None);
        assert_eq!(refusal(r#"["\\\\u0000", "\"\\", "[[[[", "1e999999"]"#), None);
        assert_eq!(refusal(r#"["\ud83d\ude00", -1.5e10, 0]"#), None);
        assert_eq!(refusal(&format!("{}{}", "[".repeat(127), "]".repeat(127))), None);
    }

    proptest! {
        /// What serde_json writes of any text without U+0000 passes, and any text at all is judged.
        #[test]
        fn texts_pass_as_serde_writes_them(text in "[^\u{0}]{0,40}", raw in ".{0,40}") {
            prop_assert_eq!(refusal(&serde_json::to_string(&text).unwrap()), None);
            let _ = refusal(&raw);
        }
    }
}
