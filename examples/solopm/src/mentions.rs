//! Who is mentioned in a text: `@ann`.
//!
//! The server reads it, from the Markdown as it will be shown: what stands in code is none, nor is a mail address.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Parser, Tag, TagEnd, TextMergeStream};

/// Longest user name, in characters.
const LONGEST: usize = 39;

/// The user names that a Markdown text mentions, in lower case, each once and in order. Whether somebody has that name is not asked.
#[must_use]
pub fn mentions(markdown: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut in_code = false;
    for event in TextMergeStream::new(Parser::new(markdown)) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(text) if !in_code => found.extend(in_text(&text)),
            _ => {}
        }
    }
    found.into_iter().collect()
}

/// Whom `after` mentions and `before` does not: an edit is no news to those who were mentioned already.
#[must_use]
pub fn new_mentions(before: &str, after: &str) -> Vec<String> {
    let known = mentions(before);
    mentions(after).into_iter().filter(|name| !known.contains(name)).collect()
}

fn in_text(text: &str) -> impl Iterator<Item = String> + '_ {
    text.match_indices('@').filter_map(|(at, _)| name_at(&text[..at], &text[at + 1..]))
}

/// The name between what stands before an `@` and what stands behind it.
fn name_at(before: &str, behind: &str) -> Option<String> {
    if before.chars().next_back().is_some_and(|last| last.is_alphanumeric() || "_.-+/@".contains(last)) {
        return None;
    }
    let length = behind.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(behind.len());
    let (name, rest) = behind.split_at(length);
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic());
    (begins_well && name.len() <= LONGEST && !goes_on(rest)).then(|| name.to_ascii_lowercase())
}

/// `@example.com` and `@ann-marie` are other words than the names that they begin with; `@ann.` ends a sentence.
fn goes_on(rest: &str) -> bool {
    let mut rest = rest.chars();
    match rest.next() {
        Some('@') => true,
        Some('.' | '-') => rest.next().is_some_and(char::is_alphanumeric),
        Some(next) => next.is_alphanumeric(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{mentions, new_mentions};

    /// S1-7: the server finds them in the text itself, each once, whatever stands around them.
    #[test]
    fn names_are_found() {
        for (text, expected) in [
            ("@ann", vec!["ann"]),
            ("ask @ann, @Bob_2 or (@cem).", vec!["ann", "bob_2", "cem"]),
            ("**@ann** and [see @bob](https://example.com/@eve)", vec!["ann", "bob"]),
            ("@ann @ann\n\n- @ann", vec!["ann"]),
            ("\u{e9}t\u{e9}:@ann", vec!["ann"]),
        ] {
            assert_eq!(mentions(text), expected, "{text}");
        }
    }

    /// S1-7: neither mail addresses, nor code in whichever of its forms, nor longer words are mentions.
    #[test]
    fn what_is_no_mention() {
        for text in [
            "mail ann@example.com or <bob@example.com>",
            "\"ann\"@example.com",
            "first.last+tag@example.org",
            "`@ann`",
            "```\n@ann\n```",
            "~~~rust\n#[derive] @ann\n~~~",
            "    @ann is indented code",
            "- a list\n\n      @ann is code within it",
            "``a `tick` and @ann``",
            "<b title='@ann'></b>",
            "@ @1 @@ann ann@@bob @ann@bob @ann.example @ann-marie https://example.com/@ann",
            &format!("@{}", "a".repeat(40)),
        ] {
            assert_eq!(mentions(text), Vec::<String>::new(), "{text}");
        }
    }

    /// S1-7: an edit tells those who were not mentioned before, and nobody else.
    #[test]
    fn an_edit_has_new_mentions_only() {
        assert_eq!(new_mentions("@ann `@bob`", "@ann @bob @cem"), ["bob", "cem"]);
        assert_eq!(new_mentions("@ann", "thanks @ann"), Vec::<String>::new());
    }
}
