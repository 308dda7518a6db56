//! The numbers of requirements and cases, as they are written in a test's documentation.

use std::fmt;

/// `S0-23`: a requirement. `Q13`, `B9b`: a case. Ordered as a person would.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number {
    series: String,
    value: u32,
    suffix: String,
}

impl Number {
    /// Reads one number and nothing else.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let (series, rest) = match word.split_once('-') {
            Some((series @ ("S0" | "S1" | "S2"), rest)) => (format!("{series}-"), rest),
            Some(_) => return None,
            None => {
                let letter = word.chars().next().filter(|letter| "QOB".contains(*letter))?;
                (letter.to_string(), &word[1..])
            }
        };
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (value, suffix) = rest.split_at(end);
        let suffix_is_fine = suffix.is_empty()
            || !series.starts_with('S') && suffix.len() == 1 && suffix.starts_with(|c: char| c.is_ascii_lowercase());
        let value = value.parse().ok().filter(|_| suffix_is_fine)?;
        Some(Self { series, value, suffix: suffix.to_owned() })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}{}", self.series, self.value, self.suffix))
    }
}

/// All numbers in a text, each once.
pub(super) fn all(text: &str) -> Vec<Number> {
    let mut numbers: Vec<Number> = words(text).filter_map(Number::parse).collect();
    numbers.sort();
    numbers.dedup();
    numbers
}

/// Whether a text names numbers as a range, `S0-1..S0-5`: whoever reads it cannot tell which are meant to be proven.
pub(super) fn has_range(text: &str) -> bool {
    ["..", "\u{2013}"].iter().any(|dash| {
        text.match_indices(dash).any(|(at, _)| {
            words(&text[..at])
                .last()
                .is_some_and(|word| Number::parse(word).is_some() && text[..at].trim_end().ends_with(word))
        })
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Number, all, has_range};

    fn named(text: &str) -> Vec<String> {
        all(text).iter().map(ToString::to_string).collect()
    }

    /// Requirements and cases are found in running text, each once and in a person's order.
    #[test]
    fn finds_numbers_in_text() {
        assert_eq!(
            named("Proves S0-23, S0-5 (also Q13, `O25`); see B9b/B9 and S0-5."),
            ["B9", "B9b", "O25", "Q13", "S0-5", "S0-23"]
        );
    }

    /// What only looks like a number is none.
    #[test]
    fn passes_over_lookalikes() {
        assert_eq!(named("S3-1 S0-1a S0-1-2 S0- XQ13 Q13bc q1 Q S0_1 UTF-8"), Vec::<String>::new());
    }

    proptest! {
        /// Any text is searched, and what is found is read again from its own form.
        #[test]
        fn any_text_is_searched(text in "([SQOB]?[0-2]?-?[0-9]{0,3}[a-z]?[ .,\u{2013}\u{e9}]{0,2}){0,6}|.{0,60}") {
            let _ = has_range(&text);
            for number in all(&text) {
                prop_assert_eq!(Number::parse(&number.to_string()), Some(number));
            }
        }

        /// A number is found between whatever ends a word.
        #[test]
        fn numbers_are_found_in_any_text(series in "S[012]-|[QOB]", value in 0..1_000_u32, before in "(.*[ (,`.])?", after in "([ ),`.].*)?") {
            let number = format!("{series}{value}");
            let found = named(&format!("{before}{number}{after}"));
            prop_assert!(found.contains(&number), "{:?}", found);
        }
    }

    /// A range is noticed; a full stop after a number is not one.
    #[test]
    fn notices_ranges() {
        assert!(has_range("proves S0-1..S0-5"));
        assert!(has_range("proves Q1\u{2013}Q5"));
        assert!(!has_range("proves S0-1. And `0..5` too"));
    }
}
