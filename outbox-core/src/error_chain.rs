//! The text that is kept of an error: its source chain, made fit for storage and bounded.

/// Longest stored error, in bytes (S0-4: an error of megabytes must not become a row of megabytes).
pub const MAX_BYTES: usize = 8 * 1024;

/// The links of a source chain in one text, each once: many error types repeat their source in their own text.
#[must_use]
pub fn join(links: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for link in links {
        if text.is_empty() {
            text = link;
        } else if !text.ends_with(&link) {
            text.push_str(": ");
            text.push_str(&link);
        }
    }
    sanitise(&text)
}

/// A text that `PostgreSQL` can store and a terminal can show: no NUL, no control characters but line breaks and tabs, and
/// no longer than [`MAX_BYTES`], with the original length noted when it was cut.
#[must_use]
pub fn sanitise(text: &str) -> String {
    let clean = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    if text.len() <= MAX_BYTES / 3 {
        return text.chars().map(clean).collect();
    }
    let note = format!(" … (cut: {} bytes)", text.len());
    let mut kept = String::new();
    for c in text.chars().map(clean) {
        if kept.len() + c.len_utf8() > MAX_BYTES - note.len() {
            kept.push_str(&note);
            break;
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Q13: a NUL in an error's text must not keep the job from being settled.
    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(sanitise("a\0b\u{1b}[31mred\r\n\tend"), "a\u{fffd}b\u{fffd}[31mred\u{fffd}\n\tend");
    }

    #[test]
    fn a_long_text_is_cut_and_its_length_noted() {
        let text = "é".repeat(1_000_000);
        let kept = sanitise(&text);
        assert!(kept.len() <= MAX_BYTES);
        assert!(kept.ends_with(" … (cut: 2000000 bytes)"), "{}", &kept[kept.len() - 40..]);
    }

    #[test]
    fn a_link_that_its_parent_repeats_is_said_once() {
        assert_eq!(join(["reading: disk full".into(), "disk full".into()]), "reading: disk full");
        assert_eq!(join(["reading".into(), "disk full".into()]), "reading: disk full");
        assert_eq!(join(std::iter::empty()), "");
    }

    proptest! {
        #[test]
        fn every_text_becomes_storable(text in "\\PC{0,60}|.{0,60}", times in 1..400_usize) {
            let kept = sanitise(&text.repeat(times));
            prop_assert!(kept.len() <= MAX_BYTES);
            prop_assert!(!kept.contains('\0'));
        }
    }
}
