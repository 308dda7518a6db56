//! What PostgreSQL would refuse is refused before it is sent, by a typed error, and the transaction goes on.

use std::error::Error as _;

use outbox::prelude::*;
use outbox::{Outbox, PublishError, Refusal};
use serde_json::value::RawValue;

use crate::enqueue::SendMail;
use crate::generated::cases;
use crate::linkage::only_events;
use crate::sql::{assert_usable, holds};
use crate::support::{OrderPlaced, Shop};

/// An event whose JSON is written by hand.
#[event("note.taken")]
struct NoteTaken {
    body: Box<RawValue>,
}

impl NoteTaken {
    fn of(json: impl Into<String>) -> Self {
        Self { body: RawValue::from_string(json.into()).unwrap() }
    }
}

/// An event that is not JSON.
#[event("map.drawn")]
struct MapDrawn {
    #[serde(skip_deserializing)]
    places: std::collections::BTreeMap<Place, u8>,
}

#[derive(serde::Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u8, u8);

async fn shop() -> (Shop, Outbox) {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).payload_limit(64 * 1024).build().await.unwrap();
    (shop, outbox)
}

/// Publishes in a transaction that goes on, and answers the refusal.
async fn refused<E: outbox::Event>(event: &E) -> PublishError {
    let (shop, outbox) = shop().await;
    let mut tx = outbox.begin().await.unwrap();
    let refused = outbox.publish(&mut tx, event).await.unwrap_err();
    assert_usable(tx, &shop.sandbox).await;
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 0);
    refused
}

async fn assert_refused(json: &str, expected: Refusal) {
    let error = refused(&NoteTaken::of(json)).await;
    assert!(
        matches!(error, PublishError::Payload { name: "note.taken", refusal } if refusal == expected),
        "{json:.60}: {error}"
    );
}

/// The character U+0000 in a value or in a key is refused by name, with what to do.
#[tokio::test]
async fn a_nul_in_a_value_or_a_key_is_refused() {
    let error = refused(&OrderPlaced::of("a\0b")).await;
    assert!(matches!(error, PublishError::Payload { name: "order.placed", refusal: Refusal::Nul }), "{error}");
    assert_eq!(
        error.to_string(),
        "the payload of `order.placed` cannot be stored: it holds the character U+0000, which PostgreSQL cannot store in text: \
         remove it or encode the bytes"
    );
    assert_refused(r#"{"deep": [{"x\u0000": 1}]}"#, Refusal::Nul).await;
    assert_refused(r#"["\\\u0000"]"#, Refusal::Nul).await;
}

/// Half a surrogate pair, which is JSON and no text, is refused.
#[tokio::test]
async fn a_lone_surrogate_is_refused() {
    for json in [r#""\ud800""#, r#""\uDC00""#, r#"{"\ud83d": 1}"#, r#""\ud83d\u0041""#, r#""\ude00\ud83d""#] {
        assert_refused(json, Refusal::LoneSurrogate).await;
    }
}

/// JSON that is nested deeper than a handler could read is refused.
#[tokio::test]
async fn a_deep_payload_is_refused() {
    // The event's own object is a level too.
    assert_refused(&format!("{}{}", "[".repeat(127), "]".repeat(127)), Refusal::TooDeep).await;
}

/// Numbers that PostgreSQL's numeric does not hold are refused, however they are written.
#[tokio::test]
async fn a_huge_number_is_refused() {
    for json in [
        "1e200000".to_owned(),
        "-1E+999999999999999999999999".to_owned(),
        "1e-20000".to_owned(),
        "9".repeat(20_000),
        format!("0.{}e-9000", "1".repeat(9_000)),
    ] {
        assert_refused(&json, Refusal::NumberOutOfRange).await;
    }
}

/// S0-2: what is just within those bounds is stored, as the same value: deep nesting, long numbers, escaped backslashes, pairs of
/// surrogates, duplicate keys, control characters.
#[tokio::test]
async fn what_is_just_within_the_bounds_is_stored() {
    let (shop, outbox) = shop().await;
    let bodies = [
        format!("{}{}", "[".repeat(126), "]".repeat(126)),
        "9".repeat(15_000),
        format!("0.{}e-7000", "1".repeat(8_000)),
        format!("{}e7000", "1".repeat(8_000)),
        "-1.5e-15000".to_owned(),
        r#""\\u0000 \\\\u0000 \ud83d\ude00 \u0001\u001f\u007f""#.to_owned(),
        r#"{"a": 1, "a": 2, "": null}"#.to_owned(),
        format!("\"{}\"", "\u{10ffff}\u{feff}\u{fffe}"),
    ];
    let mut tx = outbox.begin().await.unwrap();
    for body in &bodies {
        let published = outbox.publish(&mut tx, &NoteTaken::of(body.clone())).await.unwrap();
        let same = format!("select payload -> 'body' = $1::jsonb from {} where id = $2", shop.sandbox.table("event"));
        let same: bool = sqlx::query_scalar(sqlx::AssertSqlSafe(same))
            .bind(body)
            .bind(published.event_id.as_uuid())
            .fetch_one(&mut *tx)
            .await
            .unwrap();
        assert!(same, "{body:.60}");
    }
    assert_usable(tx, &shop.sandbox).await;
    assert!(holds(&shop.sandbox, "select count(*) = 8 from :schema.event").await);
}

/// A payload over the limit is refused with its size and the limit; one of exactly the limit is stored.
#[tokio::test]
async fn a_payload_over_the_limit_is_refused() {
    let frame = r#"{"body":""}"#.len();
    let text = |bytes: usize| NoteTaken::of(format!("\"{}\"", "x".repeat(bytes - frame)));
    let error = refused(&text(64 * 1024 + 1)).await;
    assert!(matches!(error, PublishError::TooLarge { name: "note.taken", size: 65_537, limit: 65_536 }), "{error}");
    assert_eq!(
        error.to_string(),
        "the payload of `note.taken` has 65537 bytes and the limit is 65536: store the large part elsewhere and publish a \
         reference, or raise `.payload_limit(..)`"
    );
    let (_shop, outbox) = shop().await;
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &text(64 * 1024)).await.unwrap();
}

/// The limit is 1 MiB unless said otherwise.
#[tokio::test]
async fn the_limit_is_a_mebibyte() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish(&mut tx, &OrderPlaced::of("x".repeat(1024 * 1024))).await.unwrap_err();
    assert!(matches!(error, PublishError::TooLarge { limit: 1_048_576, .. }), "{error}");
}

/// A value that does not become JSON is an error that names the event and keeps serde's words.
#[tokio::test]
async fn a_value_that_is_no_json_is_refused() {
    let error = refused(&MapDrawn { places: [(Place(1, 2), 3)].into() }).await;
    assert_eq!(error.to_string(), "`map.drawn` cannot be written as JSON");
    assert_eq!(error.source().unwrap().to_string(), "key must be a string");
}

/// Subject, key, header, actor and tenant are held to the same rule as the payload.
#[tokio::test]
async fn a_nul_beside_the_payload_is_refused() {
    let (shop, outbox) = shop().await;
    let mut tx = outbox.begin().await.unwrap();
    let order = OrderPlaced::of("o1");
    let mail = SendMail { to: "ann".into() };
    let errors = [
        outbox.publish(&mut tx, &order).key("k\0").await.unwrap_err(),
        outbox.publish_all(&mut tx, std::slice::from_ref(&order)).keys(["k\0"]).await.unwrap_err(),
        outbox.publish(&mut tx, &SubjectOnly { id: "s\0".into() }).await.unwrap_err(),
        outbox.publish(&mut tx, &order).actor("a\0").await.unwrap_err(),
        outbox.publish(&mut tx, &order).tenant("a\0").await.unwrap_err(),
        outbox.publish(&mut tx, &order).correlation("a\0").await.unwrap_err(),
        outbox.publish(&mut tx, &order).header("a\0", "b").await.unwrap_err(),
        outbox.publish(&mut tx, &order).header("a", "b\0").await.unwrap_err(),
        outbox.enqueue(&mut tx, &mail).key("k\0").await.unwrap_err(),
        outbox.enqueue(&mut tx, &mail).actor("a\0").await.unwrap_err(),
    ];
    assert_usable(tx, &shop.sandbox).await;
    let parts: Vec<_> = errors
        .iter()
        .map(|error| match error {
            PublishError::Context { what, refusal: Refusal::Nul, .. } => *what,
            other => panic!("{other}"),
        })
        .collect();
    let context = "context";
    assert_eq!(parts, ["key", "key", "subject", context, context, context, context, context, "key", context]);
    assert!(
        errors[0].to_string().starts_with("the key of `order.placed` cannot be stored: it holds the character U+0000")
    );
    assert!(shop.sandbox.jobs().await.is_empty());
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 0);
}

/// An event whose payload does not show its subject.
#[event("subject.named")]
struct SubjectOnly {
    #[subject]
    #[serde(skip)]
    id: String,
}

/// O25: a key that is longer than an index row takes is refused before it is sent, for an event and for a job.
#[tokio::test]
async fn a_key_that_no_index_takes_is_refused() {
    let (shop, outbox) = shop().await;
    // Without repetition, so that compression does not help.
    let long: String = (0..4_000_u32).map(|n| char::from_u32(0x4e00 + (n * 7_919) % 20_000).unwrap()).collect();
    let longest: String = long.chars().take(340).collect();
    let mut tx = outbox.begin().await.unwrap();
    let event = outbox.publish(&mut tx, &OrderPlaced::of("o1")).key(&long).await.unwrap_err();
    let job = outbox.enqueue(&mut tx, &SendMail { to: "ann".into() }).key(&long).await.unwrap_err();
    let many = outbox.publish_all(&mut tx, &[OrderPlaced::of("o1")]).keys([&long]).await.unwrap_err();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).key(&longest).await.unwrap();
    assert_usable(tx, &shop.sandbox).await;
    for error in [&event, &job, &many] {
        assert!(matches!(error, PublishError::KeyTooLong { size: 12_000, limit: 1_024, .. }), "{error}");
    }
    assert_eq!(
        event.to_string(),
        "the key of `order.placed` has 12000 bytes and the limit is 1024: publish with a hash of it"
    );
}

/// JSON of every kind, with what PostgreSQL is particular about: escapes, halves of surrogate pairs, NULs, long numbers.
fn documents() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let unit = prop_oneof![
        "[ -~&&[^\"\\\\]]",
        "\\PC&&[^\"\\\\]",
        Just("\\\\".to_owned()),
        Just("\\\"".to_owned()),
        Just("\\n".to_owned()),
        prop_oneof![Just(0_u16), 0xd7f0..0xe010_u16, any::<u16>()].prop_map(|unit| format!("\\u{unit:04x}")),
        (0xd800..0xdc00_u16, 0xdc00..0xe000_u16).prop_map(|(high, low)| format!("\\u{high:04X}\\u{low:04x}")),
    ];
    let text = proptest::collection::vec(unit, 0..6).prop_map(|units| format!("\"{}\"", units.concat()));
    let exponent = prop_oneof![
        Just(String::new()),
        (-20..20_i32).prop_map(|n| format!("e{n}")),
        (-20_000..200_000_i32).prop_map(|n| format!("E{n:+}")),
        any::<i64>().prop_map(|n| format!("e{n}")),
    ];
    let number =
        ("-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?", exponent).prop_map(|(digits, exponent)| digits + &exponent);
    let leaf = prop_oneof![text.clone(), number, "true|false|null"];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let pair = (text.clone(), inner.clone()).prop_map(|(key, value)| format!("{key}: {value}"));
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(pair, 0..4).prop_map(|pairs| format!("{{{}}}", pairs.join(" ,"))),
        ]
    })
}

/// What passes the check is stored by the server, and what it refuses the server refuses too, but for numbers and depths that are
/// near a limit: a payload never aborts the transaction that publishes it.
#[tokio::test]
async fn the_check_agrees_with_the_server() {
    use proptest::strategy::{Strategy as _, ValueTree as _};
    use sqlx::Connection as _;
    let (_shop, outbox) = shop().await;
    let mut tx = outbox.begin().await.unwrap();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut stored, mut refused) = (0, 0);
    for _ in 0..cases(400) {
        let json = documents().new_tree(&mut runner).unwrap().current();
        let Ok(body) = RawValue::from_string(json.clone()) else { continue };
        match outbox.publish(&mut tx, &NoteTaken { body }).await {
            Ok(_) => stored += 1,
            Err(PublishError::Payload { refusal, .. }) => {
                refused += 1;
                let mut savepoint = tx.begin().await.unwrap();
                let taken = sqlx::query("select $1::text::jsonb").bind(&json).execute(&mut *savepoint).await;
                savepoint.rollback().await.unwrap();
                assert!(taken.is_err() || refusal == Refusal::NumberOutOfRange, "{json}: {refusal}");
            }
            Err(other) => panic!("{json}: {other:?}"),
        }
    }
    tx.commit().await.unwrap();
    assert!(stored > 100 && refused > 30, "{stored} stored, {refused} refused");
}
