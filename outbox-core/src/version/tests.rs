use std::error::Error as _;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::message::Kind;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct V1 {
    cents: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct V2 {
    amount: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct V3 {
    amount: String,
    currency: String,
}

impl Message for V1 {
    const NAME: &'static str = "sale.made";
    const VERSION: u32 = 1;
    const KIND: Kind = Kind::Event;
}

impl TryFrom<V1> for V2 {
    type Error = String;

    fn try_from(old: V1) -> Result<Self, String> {
        if old.cents == 0 { Err("nothing was sold".into()) } else { Ok(Self { amount: old.cents.to_string() }) }
    }
}

impl Message for V2 {
    const NAME: &'static str = "sale.made";
    const VERSION: u32 = 2;
    const KIND: Kind = Kind::Event;
    const UPCAST: Option<Upcast<Self>> = Some(<Self as UpcastFrom<V1>>::UPCAST);
    const VERSIONS: &'static [u32] = &chain::<2>(2, earlier_versions::<Self>());
}

impl From<V2> for V3 {
    fn from(old: V2) -> Self {
        Self { amount: old.amount, currency: "EUR".into() }
    }
}

impl From<&V3> for V1 {
    fn from(new: &V3) -> Self {
        Self { cents: new.amount.parse().unwrap_or(1) }
    }
}

/// A gap in the numbers is no matter.
impl Message for V3 {
    const NAME: &'static str = "sale.made";
    const VERSION: u32 = 5;
    const KIND: Kind = Kind::Event;
    const UPCAST: Option<Upcast<Self>> = Some(<Self as UpcastFrom<V2>>::UPCAST);
    const DOWNCAST: Option<Downcast<Self>> = Some(<Self as AlsoAs<V1>>::DOWNCAST);
    const VERSIONS: &'static [u32] = &chain::<3>(5, earlier_versions::<Self>());
}

fn payload(json: &str) -> Payload {
    Payload::from_json(json)
}

#[test]
fn a_chain_reads_every_version_of_it_and_no_other() {
    assert_eq!((V1::VERSIONS, V2::VERSIONS, V3::VERSIONS), (&[1][..], &[2, 1][..], &[5, 2, 1][..]));
    assert_eq!((V3::WIRE_NAME, V1::WIRE_NAME), ("sale.made.v5", "sale.made.v1"));
    let euro = |amount: &str| V3 { amount: amount.into(), currency: "EUR".into() };
    assert_eq!(read::<V3>(1, &payload(r#"{"cents":7}"#)).expect("version 1"), euro("7"));
    assert_eq!(read::<V3>(2, &payload(r#"{"amount":"8"}"#)).expect("version 2"), euro("8"));
    let own = r#"{"amount":"9","currency":"EUR"}"#;
    assert_eq!(read::<V3>(5, &payload(own)).expect("its own version"), euro("9"));
    for unknown in [0, 3, 4, 6] {
        let error = read::<V3>(unknown, &payload(own)).expect_err("no such version");
        assert_eq!(error.to_string(), format!("`sale.made.v{unknown}` cannot be read as `sale.made.v5`"));
    }
    assert!(matches!(read::<V1>(2, &payload(r#"{"cents":7}"#)), Err(ReadError::Other { .. })));
}

/// S2-70: what is wrong is said with the version as which it was read.
#[test]
fn an_error_says_which_version_it_is_about() {
    let error = read::<V3>(1, &payload(r#"{"cents":"7"}"#)).expect_err("text is no number");
    assert_eq!(error.to_string(), "`sale.made.v1` cannot be read");
    let source = error.source().expect("where").to_string();
    assert_eq!(source, "the payload does not decode at `cents`");
    let error = read::<V3>(1, &payload(r#"{"cents":0}"#)).expect_err("refused by the conversion");
    assert_eq!(error.to_string(), "this `sale.made.v1` does not become `sale.made.v2`");
    assert_eq!(error.source().expect("why").to_string(), "nothing was sold");
}

/// S2-12: one payload, which who knows the earlier version reads as that, and who knows the later as the later.
#[test]
fn what_is_written_as_both_is_read_as_either() {
    let new = V3 { amount: "12".into(), currency: "CHF".into() };
    let stored = payload(&write(&new).expect("JSON"));
    assert_eq!((super::stored::<V3>(), super::stored::<V2>(), super::stored::<V1>()), (1, 2, 1));
    assert_eq!(read::<V1>(1, &stored).expect("the earlier"), V1 { cents: 12 });
    assert_eq!(read::<V2>(1, &stored).expect("one between, upcast"), V2 { amount: "12".into() });
    assert_eq!(read::<V3>(1, &stored).expect("the later, with nothing lost"), new);
}

/// The later version that a payload carries is read or refused as itself: a broken one is not replaced by an upcast one.
#[test]
fn a_carried_version_that_is_broken_is_refused() {
    let broken = payload(r#"{"cents":7,"sale.made.v5":{"amount":"7"}}"#);
    let error = read::<V3>(1, &broken).expect_err("a field is missing");
    assert_eq!(error.to_string(), "`sale.made.v5` cannot be read");
    // A text that only looks like it is none.
    let text = payload(r#"{"cents":7,"note":"sale.made.v5"}"#);
    assert_eq!(read::<V3>(1, &text).expect("upcast").currency, "EUR");
}

#[derive(Debug, Serialize, Deserialize)]
struct Bare;

#[derive(Debug, Serialize, Deserialize)]
struct Bare2;

#[derive(Debug, Serialize, Deserialize)]
struct Empty {}

#[derive(Debug, Serialize, Deserialize)]
struct Empty2 {}

macro_rules! both {
    ($old:ty, $new:ty, $value:expr, $older:expr) => {
        impl Message for $old {
            const NAME: &'static str = "a.b";
            const VERSION: u32 = 1;
            const KIND: Kind = Kind::Event;
        }
        impl From<&$new> for $old {
            fn from(_: &$new) -> Self {
                $older
            }
        }
        impl Message for $new {
            const NAME: &'static str = "a.b";
            const VERSION: u32 = 2;
            const KIND: Kind = Kind::Event;
            const DOWNCAST: Option<Downcast<Self>> = Some(<Self as AlsoAs<$old>>::DOWNCAST);
        }
    };
}

both!(Bare, Bare2, Bare2, Bare);
both!(Empty, Empty2, Empty2 {}, Empty {});

/// A version without fields has no room for another beside it; one whose fields are none yet has.
#[test]
fn only_an_object_can_carry_another_version() {
    let error = write(&Bare2).expect_err("`null` has no fields");
    assert!(error.to_string().contains("`also_as`"), "{error}");
    assert_eq!(write(&Empty2 {}).expect("JSON"), r#"{"a.b.v2":{}}"#);
}

proptest! {
    /// Whatever the text is made of, it comes back, also one that holds the wire name.
    #[test]
    fn any_text_is_carried(amount in "[0-9]{1,4}", currency in "sale.made.v5|.{0,12}") {
        let new = V3 { amount, currency };
        let stored = payload(&write(&new).expect("JSON"));
        prop_assert_eq!(read::<V3>(1, &stored).expect("the later"), new);
    }

    /// No payload makes a read panic, and none is read as what it is not.
    #[test]
    fn any_payload_is_judged(json in ".{0,60}", version in 0..7_u32) {
        let _ = read::<V3>(version, &payload(&json));
    }
}
