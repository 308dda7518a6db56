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

        #[test]
        fn any_text_is_judged(text in ".{0,40}") {
            let _ = text.parse::<EventId>();
        }
    }

    #[test]
    fn more_than_128_bits_are_refused() {
        assert!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<EventId>().is_err());
        assert!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<EventId>().is_ok());
        let said = "order".parse::<JobId>().expect_err("no ULID").to_string();
        assert_eq!(said, "`order` is not an id: expected the 26 characters of a ULID, or a UUID");
    }
}
