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
