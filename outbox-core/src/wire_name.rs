//! Name and version as one text, as brokers and people see it: `policy.created.v2`.

use std::fmt;
use std::str::FromStr;

use crate::name::is_name;
use crate::text::Text;

/// The largest version: what the database's `integer` holds.
pub const MAX_VERSION: u32 = i32::MAX as u32;

/// A stored name and a version, written `policy.created.v2`.
///
/// Every such text means one name and one version, and every pair has one text: no stored name of an event or a job ends in a word
/// such as `v2`.
///
/// ```
/// use outbox_core::WireName;
///
/// let wire: WireName = "policy.created.v2".parse()?;
/// assert_eq!((wire.name(), wire.version()), ("policy.created", 2));
/// assert_eq!(wire.to_string(), "policy.created.v2");
/// assert!("policy.created".parse::<WireName>().is_err());
/// # Ok::<(), outbox_core::ParseWireNameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireName {
    name: String,
    version: u32,
}

/// A text that is no [`WireName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a wire name is a stored name and a version from 1 behind it, as `policy.created.v2`")]
pub struct ParseWireNameError;

impl WireName {
    /// Of an event or a job; `None` where `name` is not the stored name of one, or `version` is none.
    #[must_use]
    pub fn new(name: &str, version: u32) -> Option<Self> {
        let fits = is_name(name) && version_at_the_end(name).is_none() && (1..=MAX_VERSION).contains(&version);
        fits.then(|| Self { name: name.to_owned(), version })
    }

    /// The stored name: `policy.created`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the payload's shape: 2.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }
}

impl fmt::Display for WireName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.v{}", self.name, self.version)
    }
}

impl FromStr for WireName {
    type Err = ParseWireNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, version) = version_at_the_end(text).ok_or(ParseWireNameError)?;
        Self::new(name, version).ok_or(ParseWireNameError)
    }
}

/// What stands before a last word such as `v2`, and its number. A number has one way to be written, so `v02` is none.
#[must_use]
pub fn version_at_the_end(text: &str) -> Option<(&str, u32)> {
    let (name, digits) = text.rsplit_once(".v")?;
    let is_number = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    let version = digits.parse().ok().filter(|version| is_number && (1..=MAX_VERSION).contains(version))?;
    Some((name, version))
}

/// The same in const.
#[must_use]
pub const fn text_of(name: &str, version: u32) -> Text {
    Text::new().push(name).push(".v").push_number(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAME: &str = "[a-z][a-z0-9_]{0,6}(\\.[a-z][a-z0-9_]{0,6}){1,3}";

    proptest! {
        /// S2-4: name and version are one text and back, for every name that an event can have; the compiler writes the same text.
        #[test]
        fn a_wire_name_is_read_as_it_was_written(name in NAME, version in 1..=MAX_VERSION) {
            prop_assume!(version_at_the_end(&name).is_none());
            let wire = WireName::new(&name, version).expect("a name and a version");
            let text = wire.to_string();
            let compiled = text_of(&name, version);
            prop_assert_eq!(compiled.as_str(), &text);
            prop_assert_eq!(text.parse::<WireName>(), Ok(wire.clone()));
            prop_assert_eq!((wire.name(), wire.version()), (name.as_str(), version));
        }

        /// S2-4: what is read is written as it was: no second text means the same name and version.
        #[test]
        fn no_two_texts_mean_the_same(text in "[a-z]{1,2}\\.[a-z]{1,2}(\\.v[0-9]{1,11}){0,2}|[ -~]{0,20}|.{0,12}") {
            if let Ok(wire) = text.parse::<WireName>() {
                prop_assert_eq!(wire.to_string(), text);
            }
        }
    }

    /// S2-4: a name that holds a version would be a second source of it.
    #[test]
    fn what_is_no_wire_name_is_refused() {
        for text in [
            "",
            ".v1",
            "created.v1",
            "policy.created",
            "policy.created.v",
            "policy.created.v0",
            "policy.created.v01",
            "policy.created.v+1",
            "policy.created.v2147483648",
            "policy.created.v1.v2",
            "policy.created.V1",
            "policy.created.v1 ",
            "Policy.created.v1",
        ] {
            assert_eq!(text.parse::<WireName>(), Err(ParseWireNameError), "{text}");
        }
        assert_eq!(WireName::new("policy.created.v1", 2), None);
        assert_eq!(WireName::new("policy.created", 0), None);
    }
}
