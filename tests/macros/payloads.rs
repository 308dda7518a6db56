//! The JSON form of events and jobs.

use outbox::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The attribute alone: both derives come from it.
#[event("widget.created")]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
struct WidgetCreated {
    widget_id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner_id: Option<u32>,
}

/// Names as declared, whatever they look like.
#[event("widget.named")]
#[derive(Debug, PartialEq)]
struct WidgetNamed {
    #[serde(rename = "widgetId")]
    widget: u32,
}

/// One derive by hand: the other is added.
#[event("widget.weighed")]
#[derive(Debug, PartialEq, Serialize)]
struct WidgetWeighed {
    grams: u32,
}

/// Both by hand, one of them by its path.
#[event("widget.measured")]
#[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
struct WidgetMeasured {
    millimetres: u32,
}

/// Neither by a derive.
#[event("widget.painted", serde = false)]
#[derive(Debug, PartialEq)]
struct WidgetPainted(u8);

impl Serialize for WidgetPainted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        format!("colour {}", self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WidgetPainted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.trim_start_matches("colour ").parse();
        number.map(Self).map_err(serde::de::Error::custom)
    }
}

/// An enum with a tag.
#[job("widget.repair")]
#[derive(Debug, PartialEq)]
#[serde(tag = "how")]
enum Repair {
    Replace { part: String },
    Glue,
}

fn assert_json<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, json: &serde_json::Value) {
    assert_eq!(&serde_json::to_value(value).expect("a value that serialises"), json);
    assert_eq!(&serde_json::from_value::<T>(json.clone()).expect("JSON that fits"), value);
}

/// S2-9: the field names on the wire are as declared.
#[test]
fn serde_attributes_are_kept() {
    assert_json(&WidgetCreated { widget_id: 1, owner_id: None }, &json!({ "widgetId": 1 }));
    assert_json(&WidgetCreated { widget_id: 1, owner_id: Some(2) }, &json!({ "widgetId": 1, "ownerId": 2 }));
    assert_json(&WidgetNamed { widget: 1 }, &json!({ "widgetId": 1 }));
    assert_json(&Repair::Replace { part: "wheel".into() }, &json!({ "how": "Replace", "part": "wheel" }));
    assert_json(&Repair::Glue, &json!({ "how": "Glue" }));
}

#[test]
fn only_the_missing_derives_are_added() {
    assert_json(&WidgetWeighed { grams: 3 }, &json!({ "grams": 3 }));
    assert_json(&WidgetMeasured { millimetres: 4 }, &json!({ "millimetres": 4 }));
    assert_json(&WidgetPainted(5), &json!("colour 5"));
}

/// S2-9: the registry knows the names of the fields as they are on the wire.
#[test]
fn the_fields_are_registered_by_their_names_on_the_wire() {
    let shapes = outbox::Registry::linked().shapes();
    assert_eq!(shapes["event widget.created.v1"].to_string(), "ownerId, widgetId");
    assert_eq!(shapes["event widget.named.v1"].to_string(), "widgetId");
}

/// What a widget is sent with; others may come.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Carrier {
    Post,
    #[serde(other)]
    Another,
}

#[event("widget.sent")]
#[derive(Debug, PartialEq)]
struct WidgetSent {
    by: Carrier,
}

/// S2-11: a variant that a later binary adds is read by one that does not know it, where the enum has one for all others.
#[test]
fn a_variant_that_is_added_is_read_as_another() {
    let read = |json: &str| serde_json::from_str::<WidgetSent>(json).expect("it reads").by;
    assert_eq!(read(r#"{"by":"Post"}"#), Carrier::Post);
    assert_eq!(read(r#"{"by":"Drone","height":12}"#), Carrier::Another);
}
