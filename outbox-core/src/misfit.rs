//! Why a payload does not fit its type, in words that do not repeat the payload.
//!
//! serde quotes what it found (`invalid type: string "4711", expected u32`), and such a text is logged and stored. What was expected,
//! and of which kind the value is, says as much to whoever has to mend the type; the value itself stands in the event, for those who
//! may read it.

use std::fmt::Write as _;

use serde_json::error::Category;

/// Longest key of a path that is shown; field names are shorter.
const LONGEST_KEY: usize = 64;

/// Why a value was refused, without the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{place}")]
pub struct Misfit {
    what: String,
    /// In the text; empty where serde does not know it.
    place: String,
}

impl Misfit {
    pub(crate) fn of(error: &serde_json::Error) -> Self {
        let said = error.to_string();
        let place = if error.line() == 0 {
            String::new()
        } else {
            format!(" at line {} column {}", error.line(), error.column())
        };
        let said = said.strip_suffix(&place).unwrap_or(&said);
        let what = match error.classify() {
            Category::Data => without_value(said),
            // The words of serde_json's own reader, which quote nothing.
            Category::Io | Category::Syntax | Category::Eof => said.to_owned(),
        };
        Self { what, place }
    }
}

/// The texts that serde makes by itself lose what they quote; all others are a type's own, and can hold anything.
fn without_value(said: &str) -> String {
    // What is expected stands behind the value, so the last one is it, whatever the value holds.
    let expected = said.rfind(", expected ").map(|at| &said[at..]);
    for beginning in ["invalid type: ", "invalid value: "] {
        if let (Some(found), Some(expected)) = (said.strip_prefix(beginning), expected) {
            return format!("{beginning}{}{expected}", kind_of(found));
        }
    }
    for beginning in ["unknown variant ", "unknown field "] {
        if said.starts_with(beginning) {
            // Where there are none to expect, what reads as if there were is a part of the value.
            let none = said.ends_with(", there are no fields") || said.ends_with(", there are no variants");
            let expected = expected.filter(|_| !none);
            return format!("{}{}", beginning.trim_end(), expected.unwrap_or_default());
        }
    }
    if is_of_the_type(said) { said.to_owned() } else { "its type refuses the value".to_owned() }
}

/// Whether this is, to its end, a text of serde's in which every word is the type's own. One of a type's can begin as such a one.
fn is_of_the_type(said: &str) -> bool {
    let field = said.strip_prefix("missing field `").or_else(|| said.strip_prefix("duplicate field `"));
    if let Some(field) = field.and_then(|rest| rest.strip_suffix('`')) {
        return !field.contains('`');
    }
    if let Some(length) = said.strip_prefix("invalid length ") {
        let expected = length.trim_start_matches(|c: char| c.is_ascii_digit());
        return expected.len() < length.len() && expected.starts_with(", expected ");
    }
    said.strip_prefix("data did not match any variant of untagged enum ").is_some_and(is_field_name)
}

/// What serde calls the value, without it.
fn kind_of(found: &str) -> &'static str {
    const KINDS: [&str; 16] = [
        "boolean",
        "integer",
        "floating point",
        "character",
        "string",
        "byte array",
        "null",
        "unit value",
        "Option value",
        "newtype struct",
        "sequence",
        "map",
        "enum",
        "unit variant",
        "newtype variant",
        "tuple variant",
    ];
    KINDS.into_iter().find(|kind| found.starts_with(kind)).unwrap_or("another value")
}

/// The place of a value, as `lines[2].quantity`. A key that reads as no field's name is one of a map, and so a part of the payload: it
/// is shown as `*`.
pub(crate) fn place(path: &serde_path_to_error::Path, misfit: &Misfit) -> String {
    use serde_path_to_error::Segment;
    let mut place = String::new();
    // A field that is not known has its name from the payload.
    let known = path.iter().count().saturating_sub(usize::from(misfit.what.starts_with("unknown field")));
    for (depth, segment) in path.iter().enumerate() {
        let name = match segment {
            Segment::Seq { index } => {
                let _ = write!(place, "[{index}]");
                continue;
            }
            Segment::Map { key } | Segment::Enum { variant: key } if depth < known && is_field_name(key) => key,
            Segment::Map { .. } | Segment::Enum { .. } => "*",
            Segment::Unknown => "?",
        };
        if !place.is_empty() {
            place.push('.');
        }
        place.push_str(name);
    }
    if place.is_empty() { ".".to_owned() } else { place }
}

fn is_field_name(key: &str) -> bool {
    let goes_on = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    goes_on && key.len() <= LONGEST_KEY && !key.starts_with(|c: char| c.is_ascii_digit()) && !key.is_empty()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::error::Error as _;

    use proptest::prelude::*;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use crate::{EventId, Payload};

    fn told<T: DeserializeOwned + std::fmt::Debug>(json: &str) -> String {
        let error = Payload::from_json(json).decode::<T>().expect_err("it does not fit");
        let source = error.source().expect("serde's reason");
        for secret in ["s3cret", "47114711", "4711.4711"] {
            assert!(!format!("{error} {error:?} {source} {source:?}").contains(secret), "{error:?} {source:?}");
        }
        format!("{}: {source}", error.path())
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only decoded")]
    struct Order {
        id: EventId,
        count: u8,
        kind: Kind,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only decoded")]
    enum Kind {
        Small,
        Large { size: i64 },
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "only decoded")]
    enum Either {
        One(u8),
        Two(bool),
    }

    const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

    /// No text of a decode repeats the value, and each says what was expected, what was found and where.
    #[test]
    fn what_does_not_fit_is_said_without_the_value() {
        let order = |count: &str, kind: &str| format!(r#"{{"id":"{ID}","count":{count},"kind":{kind}}}"#);
        for (json, expected) in [
            (order("\"s3cret\"", "null"), "count: invalid type: string, expected u8"),
            (order("\"s3cret, expected s3cret\"", "null"), "count: invalid type: string, expected u8"),
            (order("47114711", "null"), "count: invalid value: integer, expected u8"),
            (order("-47114711", "null"), "count: invalid value: integer, expected u8"),
            (order("4711.4711", "null"), "count: invalid type: floating point, expected u8"),
            (order("null", "null"), "count: invalid type: null, expected u8"),
            (order("[]", "null"), "count: invalid type: sequence, expected u8"),
            (order("{}", "null"), "count: invalid type: map, expected u8"),
            (order("1", "\"s3cret\""), "kind: unknown variant, expected `Small` or `Large`"),
            (order("1", "\"`, expected s3cret\""), "kind: unknown variant, expected `Small` or `Large`"),
            (order("1", r#"{"Large":{"size":"s3cret"}}"#), "kind.Large.size: invalid type: string, expected i64"),
            (order("1", "\"Small\",\"s3cret\":1"), "*: unknown field, expected one of `id`, `count`, `kind`"),
            (r#"{"id":"s3cret"}"#.to_owned(), "id: its type refuses the value"),
            (format!(r#"{{"id":"{ID}"}}"#), ".: missing field `count`"),
            (order("1,\"count\":2", "null"), ".: duplicate field `count`"),
            ("s3cret".to_owned(), ".: expected value"),
            ("\"s3cret".to_owned(), ".: EOF while parsing a string"),
        ] {
            let said = told::<Order>(&json);
            let said = said.rsplit_once(" at line 1 column ").map_or(&*said, |(said, _)| said);
            assert_eq!(said, expected, "{json}");
        }
        assert_eq!(told::<Either>("\"s3cret\""), ".: data did not match any variant of untagged enum Either");
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    #[derive(Debug)]
    struct Blunt;

    impl<'de> Deserialize<'de> for Blunt {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Err(serde::de::Error::custom(String::deserialize(deserializer)?))
        }
    }

    /// A text that a type makes by itself is left out too where it begins as one of serde's, and a key that reads as the end of one.
    #[test]
    fn what_only_reads_as_serdes_own_is_left_out() {
        let said = told::<Nothing>(r#"{"a`, expected s3cret":1}"#);
        assert!(said.starts_with("*: unknown field at line 1 column "), "{said}");
        for text in [
            "invalid length of s3cret",
            "invalid length s3cret, expected 4",
            "missing field `a` in `s3cret`",
            "missing field `a`: s3cret",
            "duplicate field `a` s3cret",
            "data did not match any variant of untagged enum Either: s3cret",
        ] {
            let said = told::<Blunt>(&format!("{text:?}"));
            assert!(said.starts_with(".: its type refuses the value"), "{said}");
        }
        let said = told::<(u8, u8)>("[1]");
        assert!(said.starts_with(".: invalid length 1, expected a tuple of size 2"), "{said}");
    }

    /// The keys of maps are a part of the payload; the path shows those of structs.
    #[test]
    fn keys_of_maps_are_not_shown() {
        let said = told::<BTreeMap<String, Vec<u8>>>(r#"{"s3cret@example.com":[1,"two"]}"#);
        assert_eq!(said, "*[1]: invalid type: string, expected u8 at line 1 column 30");
    }

    proptest! {
        /// Whatever text stands where a number belongs, the error is the same but for the column.
        #[test]
        fn any_text_is_left_out(text in ".{0,60}") {
            let json = serde_json::to_string(&vec![&text]).expect("JSON");
            let error = Payload::from_json(json).decode::<Vec<u8>>().expect_err("text is no number");
            let said = error.source().expect("serde's reason").to_string();
            prop_assert!(said.starts_with("invalid type: string, expected u8 at line 1 column "), "{}", said);
            prop_assert!(said.len() < 60);
        }
    }
}
