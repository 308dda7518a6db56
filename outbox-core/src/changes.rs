//! What changed between two values of a type: a map `{field: {prev, new}}` for the payload of an event.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Longest value that is kept, in bytes of JSON.
pub const VALUE_LIMIT: usize = 4 * 1024;
/// Most bytes of JSON that the values of one map have together.
pub const TOTAL_LIMIT: usize = 64 * 1024;

/// The fields that differ between two values of a type, by name: a field of an event.
///
/// As JSON it is `{"title": {"prev": "Old", "new": "New"}}`. A field that is the same in both is not listed, nor is one that is
/// marked `#[changes(secret)]`. `null` is a value: a side that has no such field at all lacks its key, `prev` or `new`.
///
/// A value of more than 4 KiB of JSON, or one beyond 64 KiB of all values together, is not kept. Its side then lacks its key too,
/// and `"omitted": {"new": 48213}` says of how many bytes it was.
///
/// ```
/// # use outbox_core::{Changes, Tracked};
/// # struct Issue { title: String }
/// # impl Tracked for Issue {
/// #     fn serialize_fields<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
/// #         serde::Serialize::serialize(&std::collections::BTreeMap::from([("title", &self.title)]), serializer)
/// #     }
/// # }
/// let before = Issue { title: "Old".into() };
/// let after = Issue { title: "New".into() };
/// let changes = Changes::between(&before, &after)?;
/// assert_eq!(serde_json::to_string(&changes)?, r#"{"title":{"prev":"Old","new":"New"}}"#);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Changes(BTreeMap<String, Change>);

/// One field of [`Changes`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// The value before. `None`: there was no such field, or its value was too large, see [`omitted`](Self::omitted).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub prev: Option<Value>,
    /// The value behind the change. `None`: there is no such field any more, or its value is too large.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub new: Option<Value>,
    /// What was too large to be kept.
    #[serde(skip_serializing_if = "Omitted::is_nothing")]
    pub omitted: Omitted,
}

/// How many bytes of JSON the values had that were too large to be kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Omitted {
    /// The value before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev: Option<u64>,
    /// The value behind the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<u64>,
}

impl Omitted {
    /// Whether both values were kept.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.prev.is_none() && self.new.is_none()
    }
}

/// `null` is a value here, and not the lack of one.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A type under `#[derive(Changes)]`: its fields can be compared.
#[diagnostic::on_unimplemented(
    message = "the fields of `{Self}` cannot be compared",
    label = "not a type under `#[derive(Changes)]`",
    note = "write `#[derive(Changes)]` above `{Self}`, and `#[changes(secret)]` above each field that must not be published"
)]
pub trait Tracked {
    /// Writes the fields that may be shown, as a map by their names.
    ///
    /// # Errors
    /// When a field cannot be written.
    fn serialize_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// A value whose fields do not become JSON.
#[derive(Debug, thiserror::Error)]
#[error("the fields of `{of}` cannot be written as JSON")]
pub struct ChangesError {
    of: &'static str,
    source: serde_json::Error,
}

impl Changes {
    /// What differs between two values.
    ///
    /// # Errors
    /// When a field does not become JSON, as a map whose keys are no texts.
    pub fn between<T: Tracked + ?Sized>(prev: &T, new: &T) -> Result<Self, ChangesError> {
        Ok(Self::of(fields(prev)?, fields(new)?))
    }

    /// Every field of a value that there was none of before: each has `new` alone.
    ///
    /// # Errors
    /// As [`between`](Self::between).
    pub fn created<T: Tracked + ?Sized>(new: &T) -> Result<Self, ChangesError> {
        Ok(Self::of(Map::new(), fields(new)?))
    }

    /// Every field of a value that is gone: each has `prev` alone.
    ///
    /// # Errors
    /// As [`between`](Self::between).
    pub fn removed<T: Tracked + ?Sized>(prev: &T) -> Result<Self, ChangesError> {
        Ok(Self::of(fields(prev)?, Map::new()))
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What became of one field; `None` when it is the same as before.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Change> {
        self.0.get(field)
    }

    /// The fields that differ, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Change)> {
        self.0.iter().map(|(name, change)| (name.as_str(), change))
    }

    fn of(prev: Map<String, Value>, new: Map<String, Value>) -> Self {
        let mut sides: BTreeMap<String, [Option<Value>; 2]> = BTreeMap::new();
        for (name, value) in prev {
            sides.entry(name).or_default()[0] = Some(value);
        }
        for (name, value) in new {
            sides.entry(name).or_default()[1] = Some(value);
        }
        sides.retain(|_, [prev, new]| prev != new);
        let mut room = TOTAL_LIMIT;
        let kept = sides.into_iter().map(|(name, [prev, new])| {
            let (prev, prev_size) = within(prev, &mut room);
            let (new, new_size) = within(new, &mut room);
            (name, Change { prev, new, omitted: Omitted { prev: prev_size, new: new_size } })
        });
        Self(kept.collect())
    }
}

fn fields<T: Tracked + ?Sized>(value: &T) -> Result<Map<String, Value>, ChangesError> {
    let error = |source| ChangesError { of: std::any::type_name::<T>(), source };
    match value.serialize_fields(serde_json::value::Serializer).map_err(error)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(error(serde::ser::Error::custom("the fields are not a map"))),
    }
}

/// The value when there is room for it, else its size.
fn within(value: Option<Value>, room: &mut usize) -> (Option<Value>, Option<u64>) {
    let Some(value) = value else { return (None, None) };
    let size = value.to_string().len();
    if size > VALUE_LIMIT.min(*room) {
        return (None, Some(size as u64));
    }
    *room -= size;
    (Some(value), None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A map of fields stands for any struct.
    struct Fields(Value);

    impl Tracked for Fields {
        fn serialize_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.serialize(serializer)
        }
    }

    fn between(prev: Value, new: Value) -> Value {
        serde_json::to_value(Changes::between(&Fields(prev), &Fields(new)).expect("JSON")).expect("JSON")
    }

    /// S1-5: a field that stays the same is not listed; `null`, a value and no field at all are three things.
    #[test]
    fn only_what_differs_is_listed_and_null_is_a_value() {
        let changed = between(
            json!({"same": 1, "title": "Old", "due": null, "gone": 1, "never": null}),
            json!({"same": 1, "title": "New", "due": "2026-05-01", "come": null, "never": null}),
        );
        let expected = json!({
            "title": {"prev": "Old", "new": "New"},
            "due": {"prev": null, "new": "2026-05-01"},
            "gone": {"prev": 1},
            "come": {"new": null},
        });
        assert_eq!(changed, expected);
        assert!(Changes::between(&Fields(json!({"a": [1]})), &Fields(json!({"a": [1]}))).expect("JSON").is_empty());
    }

    #[test]
    fn what_is_new_has_no_value_before_and_what_is_gone_none_behind() {
        let issue = Fields(json!({"title": "One", "due": null}));
        let created = serde_json::to_value(Changes::created(&issue).expect("JSON")).expect("JSON");
        assert_eq!(created, json!({"title": {"new": "One"}, "due": {"new": null}}));
        let removed = serde_json::to_value(Changes::removed(&issue).expect("JSON")).expect("JSON");
        assert_eq!(removed, json!({"title": {"prev": "One"}, "due": {"prev": null}}));
    }

    /// S1-5: a huge text is not stored, neither once nor twice: its size is said.
    #[test]
    fn a_large_value_is_left_out_and_its_size_is_said() {
        let page = "x".repeat(VALUE_LIMIT);
        let changed = between(json!({"body": "short", "title": "a"}), json!({"body": page, "title": "b"}));
        let expected = json!({
            "body": {"prev": "short", "omitted": {"new": VALUE_LIMIT + 2}},
            "title": {"prev": "a", "new": "b"},
        });
        assert_eq!(changed, expected);
        let both = between(json!({"body": format!("{page}a")}), json!({"body": format!("{page}b")}));
        assert_eq!(both, json!({"body": {"omitted": {"prev": VALUE_LIMIT + 3, "new": VALUE_LIMIT + 3}}}));
    }

    /// A flattened map can have any number of fields.
    #[test]
    fn all_values_together_are_bounded() {
        let large = |letter: &str| -> Value {
            (0..200).map(|n| (format!("field_{n}"), json!(letter.repeat(1_000)))).collect::<Map<_, _>>().into()
        };
        let changes = Changes::between(&Fields(large("a")), &Fields(large("b"))).expect("JSON");
        assert_eq!(changes.iter().count(), 200);
        let kept = changes.iter().filter(|(_, change)| change.new.is_some()).count();
        assert!((30..=TOTAL_LIMIT / 2_000).contains(&kept), "{kept}");
        assert!(changes.iter().all(|(_, change)| change.new.is_some() || change.omitted.new == Some(1_002)));
    }

    #[test]
    fn what_is_no_map_of_fields_is_an_error() {
        let error = Changes::created(&Fields(json!([1]))).expect_err("an array has no fields");
        assert!(error.to_string().contains("Fields` cannot be written as JSON"), "{error}");
    }

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
            prop::collection::vec(any::<u8>(), 0..3).prop_map(Value::from),
            (0..3 * VALUE_LIMIT).prop_map(|length| Value::from("x".repeat(length))),
        ]
    }

    fn maps() -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[a-e]", values(), 0..5).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        /// S1-5: what is stored is read again as it was, `null` and absence included, and is bounded whatever the values are.
        #[test]
        fn changes_are_read_as_they_were_written(prev in maps(), new in maps()) {
            let changes = Changes::between(&Fields(prev.clone()), &Fields(new.clone())).expect("JSON");
            let json = serde_json::to_string(&changes).expect("JSON");
            prop_assert!(json.len() < 5 * 2 * (VALUE_LIMIT + 100));
            prop_assert_eq!(&serde_json::from_str::<Changes>(&json).expect("changes"), &changes);
            for name in ["a", "b", "c", "d", "e"] {
                prop_assert_eq!(changes.get(name).is_some(), prev.get(name) != new.get(name));
            }
        }
    }
}
