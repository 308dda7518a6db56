//! Stored names: their grammar, the module they belong to, the patterns that mean them.
//!
//! Every stored name, of an event, a job or a handler, is two or more words joined by dots. A word is lower-case
//! letters, digits and underscores and begins with a letter. The first word is the resource of an event (its subject
//! type) and the module of a handler (what a worker may be limited to).

use crate::text::{Text, str_eq};

/// Longest stored name, in bytes.
pub const MAX_LEN: usize = 120;

/// Whether `name` follows the grammar of stored names.
#[must_use]
pub const fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut dots = 0;
    let mut starts_word = true;
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'.' if !starts_word => {
                dots += 1;
                starts_word = true;
            }
            b'a'..=b'z' => starts_word = false,
            b'0'..=b'9' | b'_' if !starts_word => {}
            _ => return false,
        }
        i += 1;
    }
    dots >= 1 && !starts_word && bytes.len() <= MAX_LEN
}

/// Whether `pattern` is a name, the first words of a name and `.*` behind them (`order.*`), or `*`. Not longer than a name.
#[must_use]
pub fn is_pattern(pattern: &str) -> bool {
    pattern == "*"
        || is_name(pattern)
        || pattern.strip_suffix('*').is_some_and(|head| head.ends_with('.') && is_name(&format!("{head}x")))
}

/// Whether `name` can be a service's, the owner of events: lower-case letters, digits, `_` and `-`, beginning with a letter.
#[must_use]
pub fn is_service(name: &str) -> bool {
    let goes_on = name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    goes_on && name.starts_with(|first: char| first.is_ascii_lowercase()) && name.len() <= MAX_LEN
}

/// Whether `pattern` can match more than one name.
#[must_use]
pub fn is_wildcard(pattern: &str) -> bool {
    pattern.ends_with('*')
}

/// Whether an event called `name` is meant by `pattern`.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(head) => name.starts_with(head),
        None => pattern == name,
    }
}

/// Every pattern that means `name`: itself, each `head.*`, and `*`. Publish compares these whole, so that the
/// database needs neither `LIKE` nor a collation to find the subscribers (S0-17).
#[must_use]
pub fn patterns_of(name: &str) -> Vec<String> {
    let heads = name.match_indices('.').map(|(dot, _)| format!("{}.*", &name[..dot]));
    std::iter::once(name.to_owned()).chain(heads).chain(std::iter::once("*".to_owned())).collect()
}

/// The first word: the module of a handler, the resource of an event.
#[must_use]
pub fn module_of(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The number that stands for a name in a type (FNV-1a, 64 bit).
#[must_use]
pub const fn hash(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    hash
}

/// A name and version as a type. `#[event]` implements [`Names`] for it, which is how a second event of the same name
/// becomes a compile error, and how a handler can name an event by text alone and still be checked.
#[derive(Debug)]
pub struct EventName<const HASH: u64, const VERSION: u32>;

/// `impl Names<OrderPlaced> for EventName<..>` says which type carries the name.
pub trait Names<T> {}

/// Ambiguous, and so an error, when two types carry one name and version.
pub const fn event_name_is_taken_twice<const HASH: u64, const VERSION: u32, TheOneEventWithThisName>()
where
    EventName<HASH, VERSION>: Names<TheOneEventWithThisName>,
{
}

/// The same for jobs, which are stored apart from events: a job and an event may carry one name.
#[derive(Debug)]
pub struct JobName<const HASH: u64, const VERSION: u32>;

/// Ambiguous, and so an error, when two jobs carry one name and version.
pub const fn job_name_is_taken_twice<const HASH: u64, const VERSION: u32, TheOneJobWithThisName>()
where
    JobName<HASH, VERSION>: Names<TheOneJobWithThisName>,
{
}

/// The stored name that `text` seems to mean: `OrderPlaced` and `Order.Placed` both give `order.placed`. A single word
/// in lower case, as `take_stock`, says nothing of what it belongs to, so it suggests nothing.
#[must_use]
pub fn suggestion(text: &str) -> Option<String> {
    let mut words: Vec<String> = text.split('.').map(snake_case).collect();
    if let [only] = words.as_slice() {
        if text.starts_with(char::is_lowercase) && text.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let (resource, rest) = only.split_once('_')?;
        words = vec![resource.to_owned(), rest.to_owned()];
    }
    let name = words.join(".");
    is_name(&name).then_some(name)
}

fn snake_case(text: &str) -> String {
    let mut out = String::new();
    let mut lower_before = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower_before) {
            out.push('_');
        }
        out.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
        lower_before = c.is_lowercase();
    }
    out.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// The last part of a module path: `shop::inventory` gives `inventory`, `shop::r#type` gives `type`.
#[must_use]
pub const fn last_segment(path: &str) -> &str {
    let bytes = path.as_bytes();
    let mut start = bytes.len();
    while start > 0 && bytes[start - 1] != b':' {
        start -= 1;
    }
    if bytes.len() - start > 2 && bytes[start] == b'r' && bytes[start + 1] == b'#' {
        start += 2;
    }
    bytes_from(path, start)
}

const fn bytes_from(path: &str, start: usize) -> &str {
    let (_, tail) = path.split_at(start);
    tail
}

/// Module names that say where code lies and not what it is about.
const SAY_NOTHING: [&str; 6] = ["handlers", "subscribers", "events", "jobs", "lib", "main"];

/// The stored name of a handler that gives none: `module.function`, from the path of its module.
///
/// # Panics
/// While compiling, when the module's name says nothing or the outcome is no stored name; the message says what to write.
#[track_caller]
#[must_use]
pub const fn default_handler_name(module_path: &str, function: &str) -> Text {
    let module = last_segment(module_path);
    let mut i = 0;
    while i < SAY_NOTHING.len() {
        if str_eq(module, SAY_NOTHING[i]) {
            let m = Text::new()
                .push("a handler's stored name is `module.handler`, and the module `")
                .push(module)
                .push("` says nothing: say `name = \"<module>.")
                .push(function)
                .push("\"`");
            panic!("{}", m.as_str());
        }
        i += 1;
    }
    let name = Text::new().push(module).push(".").push(function);
    if !is_name(name.as_str()) {
        let m = Text::new()
            .push("`")
            .push(name.as_str())
            .push("` cannot be a stored name (lower-case words with underscores, joined by dots): say `name = \"inventory.take\"`");
        panic!("{}", m.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_lower_case_words_joined_by_dots() {
        for good in ["order.placed", "wishlist.item_added", "health_score.updated", "a.b.c", "v2.x9"] {
            assert!(is_name(good), "{good}");
        }
        for bad in [
            "",
            "order",
            "order.",
            ".placed",
            "order..placed",
            "Order.placed",
            "order.Placed",
            "order placed",
            "1.a",
            "_a.b",
            "a.9",
            "order.*",
            "ordér.placed",
        ] {
            assert!(!is_name(bad), "{bad}");
        }
        assert!(!is_name(&format!("a.{}", "b".repeat(MAX_LEN))));
    }

    #[test]
    fn patterns_are_names_or_end_in_a_star() {
        for good in ["*", "order.*", "a.b.*", "order.placed"] {
            assert!(is_pattern(good), "{good}");
        }
        for bad in ["", "order*", "*.placed", "order.*.x", ".*", "**", "Order.*"] {
            assert!(!is_pattern(bad), "{bad}");
        }
    }

    #[test]
    fn a_name_written_otherwise_is_recognised() {
        for (text, meant) in [
            ("OrderPlaced", "order.placed"),
            ("Order.Placed", "order.placed"),
            ("order-line-added", "order.line_added"),
            ("order/placed", "order.placed"),
            ("wishlist.itemAdded", "wishlist.item_added"),
        ] {
            assert_eq!(suggestion(text).as_deref(), Some(meant), "{text}");
        }
        for text in ["", "order", "takeStock", "take_stock", "1.2", "ordér.placed"] {
            assert_eq!(suggestion(text), None, "{text}");
        }
    }

    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

    /// The grammar as the top of this file says it, word by word.
    fn by_the_book(name: &str) -> bool {
        let is_word = |word: &str| {
            word.chars().next().is_some_and(|first| LETTERS.contains(first))
                && word.chars().all(|c| LETTERS.contains(c) || "0123456789_".contains(c))
        };
        name.len() <= 120 && name.split('.').count() >= 2 && name.split('.').all(is_word)
    }

    fn is_pattern_by_the_book(pattern: &str) -> bool {
        let words: Vec<&str> = pattern.split('.').collect();
        match words.as_slice() {
            ["*"] => true,
            [head @ .., "*"] => {
                pattern.len() <= 120 && by_the_book(&format!("a.{}", head.join("."))[..]) && !head.is_empty()
            }
            _ => by_the_book(pattern),
        }
    }

    /// Names, and texts that are one edit away from one.
    fn near_names() -> impl Strategy<Value = String> {
        let name = "[a-z][a-z0-9_]{0,6}(\\.[a-z][a-z0-9_]{0,6}){0,3}";
        let odd = "[-.*_A-Z0-9a-z `/:@{\u{0}\u{e9}\u{430}\u{ff41}\n]";
        (name, any::<prop::sample::Index>(), odd, 0..4_u8).prop_map(|(name, at, odd, way)| {
            let (before, after) = name.split_at(at.index(name.len() + 1));
            match way {
                0 => name,
                1 => format!("{before}{odd}{after}"),
                2 => format!("{before}{odd}{}", after.get(1..).unwrap_or_default()),
                _ => format!("{before}{}", after.get(1..).unwrap_or_default()),
            }
        })
    }

    /// What the compiler says of names is what a running program says.
    #[test]
    fn the_compiler_judges_as_a_program_does() {
        macro_rules! judged {
            ($($text:literal),* $(,)?) => {
                [$(($text, const { is_name($text) }, const { hash($text) }, const { last_segment($text).len() })),*]
            };
        }
        let judged = judged![
            "", ".", "a", "a.", ".a", "a.b", "a..b", "a.b.", "A.b", "a.B", "a_.b_", "_a.b", "a._b", "a.1", "a1.b2",
            "a b.c", "a.b\n", "é.b", "a.é", "a.b*", "a.*", "*", "a-b.c", "a.b\0", "a::b", "a::r#b", "r#", "::", "é::é",
            "foobar",
        ];
        for (text, is_a_name, number, length) in judged {
            let text = std::hint::black_box(text);
            assert_eq!((is_name(text), hash(text), last_segment(text).len()), (is_a_name, number, length), "{text}");
            assert_eq!(is_a_name, by_the_book(text), "{text}");
        }
        // The published test vectors of FNV-1a.
        assert_eq!((hash(""), hash("foobar")), (0xcbf2_9ce4_8422_2325, 0x8594_4171_f739_67e8));
    }

    proptest! {
        /// Exactly the grammar, for what almost follows it and for what is about as long as it may be.
        #[test]
        fn exactly_the_names_are_names(near in near_names(), length in 110..130_usize) {
            prop_assert_eq!(is_name(&near), by_the_book(&near), "{:?}", near);
            let long = near.clone() + &"x".repeat(length.saturating_sub(near.len()));
            prop_assert_eq!(is_name(&long), by_the_book(&long), "{:?}", long);
        }

        #[test]
        fn exactly_the_patterns_are_patterns(near in near_names(), end in "\\.\\*|\\*|", length in 110..130_usize) {
            let near = near + &end;
            prop_assert_eq!(is_pattern(&near), is_pattern_by_the_book(&near), "{:?}", near);
            let long = "x".repeat(length.saturating_sub(near.len())) + &near;
            prop_assert_eq!(is_pattern(&long), is_pattern_by_the_book(&long), "{:?}", long);
        }

        /// A name that is written as a type's is found again.
        #[test]
        fn a_name_is_recognised_in_camel_case(words in prop::collection::vec("[a-z]{2,6}", 2..5)) {
            let camel: String = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
            let name = format!("{}.{}", words[0], words[1..].join("_"));
            prop_assert_eq!(suggestion(&camel), Some(name.clone()));
            prop_assert_eq!(suggestion(&name), Some(name));
        }

        /// The first word and the patterns of a name are parts of it, and each pattern is one.
        #[test]
        fn the_patterns_of_a_name_are_patterns(name in "[a-z][a-z0-9_]{0,6}(\\.[a-z][a-z0-9_]{0,6}){1,3}") {
            prop_assert!(patterns_of(&name).iter().all(|pattern| is_pattern(pattern) && matches(pattern, &name)));
            let within = format!("{}.", module_of(&name));
            prop_assert!(name.starts_with(&within));
        }

        /// The name that a handler has without saying so, from any path.
        #[test]
        fn a_default_name_is_module_and_function(path in "([a-z]{1,5}::){0,3}(r#)?", module in "[a-z][a-z0-9_]{0,8}", function in "[a-z][a-z0-9_]{0,8}") {
            prop_assume!(!SAY_NOTHING.contains(&module.as_str()));
            let name = default_handler_name(&format!("{path}{module}"), &function);
            prop_assert_eq!(name.as_str(), format!("{module}.{function}"));
        }

        #[test]
        fn any_path_has_a_last_segment(path in "[:r#a\u{e9}]{0,12}|.{0,20}") {
            prop_assert!(path.ends_with(last_segment(&path)));
        }

        /// A pattern means a name exactly when it is among the patterns that publish sends for it.
        #[test]
        fn matching_agrees_with_the_patterns_sent(name in "[a-z]{1,3}(\\.[a-z]{1,3}){1,3}", pattern in "([a-z]{1,3}\\.){1,3}(\\*|[a-z]{1,3})|\\*") {
            prop_assert!(is_name(&name));
            prop_assert_eq!(matches(&pattern, &name), patterns_of(&name).contains(&pattern));
        }

        /// No text at all makes the grammar panic.
        #[test]
        fn any_text_is_judged(text in ".{0,200}") {
            let _ = (is_name(&text), is_pattern(&text), module_of(&text));
            prop_assert!(suggestion(&text).is_none_or(|name| is_name(&name)));
        }
    }

    #[test]
    fn the_last_segment_of_a_path_is_the_module() {
        assert_eq!(last_segment("shop::inventory"), "inventory");
        assert_eq!(last_segment("inventory"), "inventory");
        assert_eq!(last_segment("shop::r#type"), "type");
        assert_eq!(default_handler_name("shop::inventory", "take").as_str(), "inventory.take");
    }

    #[test]
    #[should_panic(expected = "the module `handlers` says nothing")]
    fn a_module_that_says_nothing_is_refused() {
        let _ = default_handler_name("shop::handlers", "take");
    }
}
