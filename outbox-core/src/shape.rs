//! The names that a type has on the wire, asked of serde itself: what `rename` and `rename_all` make of them is in it.

use std::fmt;

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

/// What a type reads at the top of its JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A struct with these fields, by the names (and aliases) that they have in JSON.
    Fields(&'static [&'static str]),
    /// An enum with these variants.
    Variants(&'static [&'static str]),
    /// Something that serde does not name: a unit or a tuple, a tagged enum, a struct that flattens another, a hand-written one.
    Other,
}

impl Shape {
    /// Of `T`.
    #[must_use]
    pub fn of<T: DeserializeOwned>() -> Self {
        let mut found = Self::Other;
        // It answers every question with an error: only the question counts.
        let _ = T::deserialize(Asked(&mut found));
        found
    }

    /// The names, where there are some.
    #[must_use]
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Fields(names) | Self::Variants(names) => names,
            Self::Other => &[],
        }
    }
}

/// `policy, premium`, or `Small | Large`, sorted: their order means nothing in JSON.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.names().to_vec();
        names.sort_unstable();
        f.write_str(&names.join(if matches!(self, Self::Variants(_)) { " | " } else { ", " }))
    }
}

/// Hears what a type asks for.
struct Asked<'a>(&'a mut Shape);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = Shape::Fields(fields);
        Err(Error::custom("asked"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = Shape::Variants(variants);
        Err(Error::custom("asked"))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("asked"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code, reason = "only asked")]
    struct Widget {
        serial_no: u32,
        #[serde(rename = "owner", alias = "proprietor")]
        owner_id: Option<u32>,
        #[serde(skip)]
        cached: u8,
    }

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only asked")]
    struct Wrapped(Widget);

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[allow(dead_code, reason = "only asked")]
    enum Size {
        VeryLarge { by: u8 },
        Small,
    }

    #[derive(Deserialize)]
    struct Nothing;

    /// S2-9: the names are those on the wire, whatever they are called in Rust.
    #[test]
    fn the_names_are_those_of_the_wire() {
        assert_eq!(Shape::of::<Widget>().to_string(), "owner, proprietor, serialNo");
        assert_eq!(Shape::of::<Wrapped>(), Shape::of::<Widget>());
        assert_eq!(Shape::of::<Size>().to_string(), "small | very_large");
        assert_eq!((Shape::of::<Nothing>(), Shape::of::<Vec<u8>>()), (Shape::Other, Shape::Other));
        assert_eq!(Shape::Other.to_string(), "");
    }
}
