//! Identifiers: ULIDs, stored as `uuid` and shown as the 26 characters of Crockford base32.
//!
//! An id is made before its transaction commits, and on many clocks: it sorts roughly by time and is never a cursor.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;
use uuid::Uuid;

/// A text that is no ULID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id: expected the 26 characters of a ULID, or a UUID")]
pub struct ParseIdError {
    text: String,
}

fn parse(text: &str) -> Result<Ulid, ParseIdError> {
    let refused = || ParseIdError { text: text.chars().take(64).collect() };
    if text.len() == 36 {
        return Uuid::parse_str(text).map(|id| Ulid::from(id.as_u128())).map_err(|_| refused());
    }
    // 26 characters hold 130 bits: a first character above 7 would lose two of them silently.
    if !text.starts_with(|first| ('0'..='7').contains(&first)) {
        return Err(refused());
    }
    Ulid::from_string(text).map_err(|_| refused())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// The id of this ULID.
            #[must_use]
            pub const fn from_ulid(ulid: Ulid) -> Self {
                Self(ulid)
            }

            /// The ULID itself.
            #[must_use]
            pub const fn as_ulid(self) -> Ulid {
                self.0
            }

            /// The same 128 bits as they are stored. Its version bits are not those of RFC 9562.
            #[must_use]
            pub fn as_uuid(self) -> Uuid {
                Uuid::from_u128(self.0.into())
            }
        }

        impl From<Uuid> for $name {
            fn from(stored: Uuid) -> Self {
                Self(Ulid::from(stored.as_u128()))
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.as_uuid()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        /// Reads ULID text in either case, or the UUID text that `psql` shows.
        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id! {
    /// The id of a published event. It stays the same over retries, replay and relays.
    EventId
}
id! {
    /// The id of a job: one handler's execution of one event, or of one command.
    JobId
}
id! {
    /// The id of a message in quarantine.
    QuarantineId
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_and_uuid_round_trip(bits in any::<u128>()) {
            let id = EventId::from(Uuid::from_u128(bits));
            prop_assert_eq!(id.to_string().parse::<EventId>(), Ok(id));
            prop_assert_eq!(id.to_string().to_lowercase().parse::<EventId>(), Ok(id));
            prop_assert_eq!(id.as_uuid().to_string().parse::<EventId>(), Ok(id));
            prop_assert_eq!(serde_json::from_str::<EventId>(&serde_json::to_string(&id).expect("an id is JSON")).expect("its own JSON"), id);
        }

        /// Exactly ULIDs in either case and hyphenated UUIDs are ids, and of the right number; every other text is refused by name.
        #[test]
        fn exactly_ulids_and_uuids_are_ids(text in near_ids()) {
            let read = text.parse::<EventId>();
            prop_assert_eq!(read.clone().ok().map(|id| u128::from(id.as_ulid())), by_the_book(&text), "{:?}", text);
            if let Err(error) = read {
                let shown: String = text.chars().take(64).collect();
                prop_assert_eq!(error.to_string(), format!("`{shown}` is not an id: expected the 26 characters of a ULID, or a UUID"));
            }
        }

        /// Texts, stored bytes and ids have one order.
        #[test]
        fn all_forms_have_one_order(a in any::<u128>(), b in any::<u128>()) {
            let (a, b) = (JobId::from(Uuid::from_u128(a)), JobId::from(Uuid::from_u128(b)));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
            prop_assert_eq!(a.cmp(&b), a.as_uuid().cmp(&b.as_uuid()));
        }
    }

    /// Ids, texts that are one character away from one, and anything.
    fn near_ids() -> impl Strategy<Value = String> {
        let id = prop_oneof![
            any::<u128>().prop_map(|bits| EventId::from(Uuid::from_u128(bits)).to_string()),
            any::<u128>().prop_map(|bits| Uuid::from_u128(bits).to_string()),
            "[0-9A-TV-Za-z]{26}",
        ];
        let near = (id, any::<prop::sample::Index>(), "[-0-9A-Za-z {\u{17f}\u{131}\u{e9}]", 0..4_u8).prop_map(
            |(id, at, odd, way)| {
                let (before, after) = id.split_at(at.index(id.len()));
                match way {
                    0 => id,
                    1 => format!("{before}{odd}{after}"),
                    2 => format!("{before}{odd}{}", &after[1..]),
                    _ => format!("{before}{}", &after[1..]),
                }
            },
        );
        prop_oneof![4 => near, 1 => ".{0,80}"]
    }

    /// Digit by digit.
    fn by_the_book(text: &str) -> Option<u128> {
        const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        if text.chars().count() == 36 {
            let hyphens = [8, 13, 18, 23];
            return text.chars().enumerate().try_fold(0, |bits: u128, (at, c)| match (c, c.to_digit(16)) {
                ('-', _) => hyphens.contains(&at).then_some(bits),
                (_, Some(digit)) if !hyphens.contains(&at) => Some(bits << 4 | u128::from(digit)),
                _ => None,
            });
        }
        if text.chars().count() != 26 {
            return None;
        }
        text.chars().try_fold(0, |bits: u128, c| {
            let digit = CROCKFORD.chars().position(|known| known.eq_ignore_ascii_case(&c))?;
            bits.checked_mul(32)?.checked_add(digit as u128)
        })
    }

    #[test]
    fn more_than_128_bits_are_refused() {
        assert!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<EventId>().is_err());
        assert!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<EventId>().is_ok());
        let said = "order".parse::<JobId>().expect_err("no ULID").to_string();
        assert_eq!(said, "`order` is not an id: expected the 26 characters of a ULID, or a UUID");
    }
}
