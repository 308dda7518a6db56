//! Text joined while compiling: a const panic takes one `&str`, and the messages name the user's own things.

/// Longest text that [`Text`] holds, in bytes. A message that is longer is cut.
const CAPACITY: usize = 1024;

/// A text built in const.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Text {
    /// An empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; CAPACITY], len: 0 }
    }

    /// The text with `part` behind it.
    #[must_use]
    pub const fn push(mut self, part: &str) -> Self {
        let part = part.as_bytes();
        let mut i = 0;
        while i < part.len() && self.len < CAPACITY {
            self.bytes[self.len] = part[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// The text with `number` behind it, in decimal.
    #[must_use]
    pub const fn push_number(self, number: u32) -> Self {
        let with_more = if number >= 10 { self.push_number(number / 10) } else { self };
        let digit = [b'0' + (number % 10) as u8];
        match std::str::from_utf8(&digit) {
            Ok(digit) => with_more.push(digit),
            Err(_) => with_more,
        }
    }

    /// The whole text.
    #[must_use]
    pub const fn as_str(&self) -> &str {
        let (head, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(head) {
            Ok(text) => text,
            // Cut within a character.
            Err(cut) => match std::str::from_utf8(head.split_at(cut.valid_up_to()).0) {
                Ok(text) => text,
                Err(_) => "",
            },
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

/// The one of `known` that `word` was probably meant to be: at most two letters away, and less than half of them.
#[must_use]
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |candidate: &&str| distance(word, candidate) <= 2.min(candidate.chars().count() / 2);
    known.into_iter().filter(near).min_by_key(|candidate| distance(word, candidate))
}

/// How many letters must be added, left out or replaced to make `a` into `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Whether two texts are the same, in const.
#[must_use]
pub const fn str_eq(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A message that is too long is cut between two characters, not lost: names of the user's own may be in any script.
    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = Text::new().push("a").push(&"é".repeat(CAPACITY));
        assert_eq!(text.as_str(), format!("a{}", "é".repeat((CAPACITY - 1) / 2)));
        assert_eq!(text.push("b").as_str(), text.as_str());
    }

    /// The distance by its definition: what it costs to give up the first letters.
    fn by_definition(a: &[char], b: &[char]) -> usize {
        match (a, b) {
            ([], rest) | (rest, []) => rest.len(),
            ([x, a @ ..], [y, b @ ..]) if x == y => by_definition(a, b),
            ([_, shorter_a @ ..], [_, shorter_b @ ..]) => {
                1 + by_definition(shorter_a, b)
                    .min(by_definition(a, shorter_b))
                    .min(by_definition(shorter_a, shorter_b))
            }
        }
    }

    proptest! {
        #[test]
        fn texts_are_joined(parts in proptest::collection::vec("\\PC{0,200}", 0..8)) {
            let whole = parts.concat();
            let text = parts.iter().fold(Text::new(), |text, part| text.push(part));
            let longest = (0..=whole.len().min(CAPACITY)).rev().find(|end| whole.is_char_boundary(*end)).expect("0 is one");
            prop_assert_eq!(text.as_str(), &whole[..longest]);
        }

        #[test]
        fn texts_are_equal_as_str_says(a in "[ab\u{e9}]{0,4}", b in "[ab\u{e9}]{0,4}") {
            prop_assert_eq!(str_eq(&a, &b), a == b);
            prop_assert!(str_eq(&a, &a.clone()));
        }

        #[test]
        fn the_distance_is_the_one_of_the_definition(a in "[abc\u{e9}]{0,5}", b in "[abc\u{e9}]{0,5}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(distance(&a, &b), by_definition(&letters(&a), &letters(&b)));
        }

        #[test]
        fn any_word_is_judged(word in ".{0,30}", known in proptest::collection::vec("\\PC{0,12}", 0..4)) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            prop_assert!(closest(&word, known.iter().copied()).is_none_or(|found| known.contains(&found)));
        }
    }

    #[test]
    fn a_misspelt_word_finds_the_one_that_was_meant() {
        let known = ["event", "job", "name", "timeout", "max_attempts"];
        for (said, meant) in [("evnt", "event"), ("max_attempt", "max_attempts"), ("time_out", "timeout")] {
            assert_eq!(closest(said, known), Some(meant));
        }
        for said in ["", "retry", "queue", "x"] {
            assert_eq!(closest(said, known), None);
        }
    }
}
