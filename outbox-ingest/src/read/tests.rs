use proptest::prelude::*;

use super::*;
use crate::delivery::{Message, Value};

/// Attributes, body, and words of the reason.
type Odd<'a> = (&'a [(&'a str, &'a str)], &'a [u8], &'a str);

const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn kept(attributes: &[(&str, &str)]) -> Kept {
    let mut all = BTreeMap::from([("specversion", "1.0"), ("id", ID), ("type", "order.placed.v1")]);
    all.extend(attributes.iter().copied());
    let attributes = all.into_iter().filter(|(_, value)| *value != "-");
    let attributes = attributes.map(|(name, value)| (name.to_owned(), Value::Text(value.to_owned()))).collect();
    Kept::of(&Message { attributes, ..Message::default() })
}

fn class(attributes: &[(&str, &str)], body: &[u8]) -> (QuarantineClass, String) {
    let unfit = read(&kept(attributes), body).unwrap_err();
    (unfit.class, unfit.reason)
}

/// What a relay writes is read as the event that it was.
#[test]
fn an_event_is_read_with_its_context() {
    let event = read(
        &kept(&[
            ("time", "2026-11-30T10:00:00.000001Z"),
            ("subject", "4711"),
            ("correlationid", "request 7"),
            ("causationid", ID),
            ("actor", "ann"),
            ("tenant", "acme"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("tracestate", "a=1"),
            ("headers", r#"{"via":"a\"b"}"#),
        ]),
        br#"{"order_id": 4711}"#,
    )
    .unwrap();
    assert_eq!((event.id.to_string().as_str(), event.name.as_str(), event.version), (ID, "order.placed", 1));
    assert_eq!(event.occurred_at.timestamp_micros() % 1_000_000, 1);
    assert_eq!((event.subject.kind.as_str(), event.subject.id.as_deref()), ("order", Some("4711")));
    let expected = Metadata {
        correlation: Some("request 7".to_owned()),
        causation: Some(ID.parse().unwrap()),
        actor: Some("ann".to_owned()),
        tenant: Some("acme".to_owned()),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
        tracestate: Some("a=1".to_owned()),
        headers: [("via".to_owned(), "a\"b".to_owned())].into(),
        origin: None,
    };
    assert_eq!(event.metadata, expected);
    assert_eq!(event.payload.as_json(), r#"{"order_id": 4711}"#);
}

/// S2-32: each reason has its class, and none quotes the body.
#[test]
fn what_is_no_event_says_why() {
    let undecodable: [Odd<'_>; 7] = [
        (&[("specversion", "0.3")], b"{}", "version `0.3` of CloudEvents"),
        (&[("type", "-")], b"{}", "says no type"),
        (&[("time", "yesterday")], b"{}", "time `yesterday`"),
        (&[("headers", "[]")], b"{}", "`headers`"),
        (&[], b"{\"card\": 4111", "no JSON: EOF"),
        (&[], b"", "no JSON"),
        (&[], b"\xff\xfe", "no UTF-8"),
    ];
    for (attributes, body, words) in undecodable {
        let (class, reason) = class(attributes, body);
        assert_eq!(class, QuarantineClass::Undecodable, "{reason}");
        assert!(reason.contains(words) && !reason.contains("4111"), "{reason}");
    }
    for kind in ["OrderPlaced", "order.placed", "order.placed.v0", "com.github.push"] {
        let (class, reason) = class(&[("type", kind)], b"{}");
        assert_eq!(class, QuarantineClass::UnknownType, "{reason}");
    }
    for id in ["-", "", "4711", "not an id", "81ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        let (class, reason) = class(&[("id", id)], b"{}");
        assert_eq!(class, QuarantineClass::NotAnId, "{reason}");
    }
}

#[test]
fn a_header_that_is_no_text_is_said_by_name() {
    let mut message = Message::default();
    message.attributes.push(("subject".to_owned(), Value::Undecodable));
    message.attributes.push(("id".to_owned(), Value::Text(ID.to_owned())));
    message.attributes.push(("type".to_owned(), Value::Text("order.placed.v1".to_owned())));
    let unfit = read(&Kept::of(&message), b"{}").unwrap_err();
    assert_eq!((unfit.class, unfit.reason.as_str()), (QuarantineClass::Undecodable, "its header `subject` is no text"));
    assert_eq!((unfit.event_type.as_deref(), unfit.event_version), (Some("order.placed"), Some(1)));
    assert_eq!(unfit.event_id, Some(ID.parse().unwrap()));
}

#[test]
fn a_broker_s_own_id_stands_in() {
    let message = Message { broker_id: Some(ID.to_owned()), ..Message::default() };
    let mut message = message;
    message.attributes.push(("type".to_owned(), Value::Text("order.placed.v1".to_owned())));
    assert_eq!(read(&Kept::of(&message), b"{}").unwrap().id.to_string(), ID);
}

#[test]
fn only_json_in_binary_mode_is_read() {
    for good in ["application/json", "application/json; charset=utf-8", "application/vnd.acme+json"] {
        assert!(is_json(good), "{good}");
    }
    for bad in ["application/cloudevents+json", "text/plain", "", "application/avro"] {
        assert!(!is_json(bad), "{bad}");
    }
}

proptest! {
    /// Whatever comes is read or refused with a reason that can be stored, and never panics.
    #[test]
    fn anything_is_judged(
        attributes in prop::collection::vec(("id|type|time|subject|headers|specversion|[a-z]{1,5}", ".{0,30}"), 0..6),
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let attributes = attributes.into_iter().map(|(name, value)| (name, Value::Text(value))).collect();
        let kept = Kept::of(&Message { attributes, ..Message::default() });
        if let Err(unfit) = read(&kept, &body) {
            prop_assert!(!unfit.reason.is_empty() && !unfit.reason.contains('\0') && unfit.reason.len() < 2_000);
        }
        prop_assert_eq!(Kept::from_json(&kept.to_json()), kept);
    }
}
