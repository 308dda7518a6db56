//! `#[derive(Changes)]`: fields by the names that serde gives them, without the secret ones.

use std::collections::BTreeMap;

use outbox::prelude::*;
use outbox::{Changes, Payload};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

/// As a row of a table, with all that serde can be told about it.
#[derive(Debug, Clone, Serialize, Deserialize, Changes)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct User {
    display_name: String,
    #[serde(rename = "mail", default)]
    email_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<i64>,
    #[serde(serialize_with = "as_text", deserialize_with = "Deserialize::deserialize")]
    quota: u64,
    #[changes(secret)]
    password_hash: String,
    #[serde(rename = "apiToken")]
    #[changes(secret)]
    token: Option<String>,
    #[serde(skip)]
    #[allow(dead_code, reason = "nobody is shown it")]
    cached: u8,
    #[changes(skip)]
    updated_at: i64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn as_text<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// Not under serde's derive itself; its parts are.
#[derive(Clone, Changes)]
#[allow(dead_code, reason = "`r#type` is compared only")]
struct Issue {
    title: String,
    r#type: &'static str,
    #[serde(flatten)]
    custom: BTreeMap<String, Value>,
    parent: Option<Box<Parent>>,
    #[changes(secret)]
    #[serde(flatten)]
    keys: BTreeMap<String, String>,
}

#[derive(Clone, Serialize)]
struct Parent(u32);

#[derive(Clone, Serialize, Changes)]
struct Folder {
    name: String,
    within: Option<Box<Self>>,
}

#[event("user.updated")]
#[derive(Debug, PartialEq)]
struct UserUpdated {
    #[subject]
    user_id: i64,
    changes: Changes,
}

fn ann() -> User {
    User {
        display_name: "Ann".into(),
        email_address: None,
        deleted_at: None,
        quota: 1,
        password_hash: "hash one".into(),
        token: None,
        cached: 0,
        updated_at: 1,
    }
}

fn json_of(changes: &Changes) -> Value {
    serde_json::to_value(changes).expect("JSON")
}

/// S1-5: the changed fields, as `{field: {prev, new}}`; no field that is the same, no secret by whatever name; `null` and absent are
/// two things.
#[test]
fn what_differs_is_listed_without_secrets() {
    let before = ann();
    let after = User {
        email_address: Some("ann@example.com".into()),
        deleted_at: Some(7),
        quota: 2,
        password_hash: "hash two".into(),
        token: Some("token".into()),
        cached: 9,
        updated_at: 2,
        ..before.clone()
    };
    let changes = Changes::between(&before, &after).expect("JSON");
    let expected = json!({
        "mail": {"prev": null, "new": "ann@example.com"},
        "deletedAt": {"new": 7},
        "quota": {"prev": "1", "new": "2"},
    });
    assert_eq!(json_of(&changes), expected);
    assert!(Changes::between(&after, &after).expect("JSON").is_empty());
}

/// S1-5: also when all fields are listed, a secret is not.
#[test]
fn a_secret_is_not_written_with_a_new_value() {
    let user = User { token: Some("s3cret".into()), password_hash: "s3cret".into(), ..ann() };
    let created = json_of(&Changes::created(&user).expect("JSON"));
    let expected = json!({"displayName": {"new": "Ann"}, "mail": {"new": null}, "quota": {"new": "1"}});
    assert_eq!(created, expected);
    assert!(!json_of(&Changes::removed(&user).expect("JSON")).to_string().contains("s3cret"));
}

#[test]
fn flattened_fields_are_compared_each_for_itself() {
    let before = Issue {
        title: "Old".into(),
        r#type: "bug",
        custom: [("severity".to_owned(), json!(1)), ("browser".to_owned(), json!("any"))].into(),
        parent: Some(Parent(1).into()),
        keys: [("api".to_owned(), "one".to_owned())].into(),
    };
    let after = Issue {
        r#type: "task",
        custom: [("severity".to_owned(), json!(2)), ("browser".to_owned(), json!("any"))].into(),
        parent: Some(Parent(2).into()),
        keys: [("api".to_owned(), "two".to_owned())].into(),
        ..before.clone()
    };
    let expected = json!({
        "type": {"prev": "bug", "new": "task"},
        "severity": {"prev": 1, "new": 2},
        "parent": {"prev": 1, "new": 2},
    });
    assert_eq!(json_of(&Changes::between(&before, &after).expect("JSON")), expected);
}

#[test]
fn a_struct_that_holds_itself_is_compared() {
    let root = Folder { name: "root".into(), within: None };
    let child = Folder { name: "child".into(), within: Some(root.clone().into()) };
    let moved = Changes::between(&Folder { within: None, ..child.clone() }, &child).expect("JSON");
    assert_eq!(json_of(&moved), json!({"within": {"prev": null, "new": {"name": "root", "within": null}}}));
}

/// S1-5: a field of an event, which its handlers read as it was published.
#[test]
fn changes_are_a_field_of_an_event() {
    let changes = Changes::between(&ann(), &User { email_address: Some("a@b".into()), ..ann() }).expect("JSON");
    let event = UserUpdated { user_id: 7, changes };
    let payload = Payload::from_json(serde_json::to_string(&event).expect("JSON"));
    assert_eq!(payload.as_json(), r#"{"user_id":7,"changes":{"mail":{"prev":null,"new":"a@b"}}}"#);
    let read: UserUpdated = payload.decode().expect("JSON");
    assert_eq!(read, event);
    let mail = read.changes.get("mail").expect("JSON");
    assert_eq!((&mail.prev, &mail.new), (&Some(Value::Null), &Some(json!("a@b"))));
}

/// A field that is no JSON is an error that names the type.
#[test]
fn a_field_that_is_no_json_is_an_error() {
    #[derive(Changes)]
    struct Table {
        cells: BTreeMap<(u8, u8), u8>,
    }
    let error = Changes::created(&Table { cells: [((1, 1), 1)].into() }).expect_err("no JSON");
    assert!(error.to_string().ends_with("Table` cannot be written as JSON"), "{error}");
}
