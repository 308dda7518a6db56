//! The secret that sender and receiver share: `whsec_` and base64.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What every secret begins with.
const PREFIX: &str = "whsec_";
/// How many bytes a secret may have, as Standard Webhooks says.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;
/// How many bytes a new one has: as many as the hash.
const NEW: usize = 32;

/// A secret of an endpoint, `whsec_` and the base64 of 24 to 64 bytes, as [Standard Webhooks] has it.
///
/// Whoever has it can sign in the sender's name: it is worth as much as a password. `Debug` does not show it; [`expose`](Self::expose)
/// does.
///
/// [Standard Webhooks]: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// A text that is no secret. The text is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// It does not begin as one.
    #[error("a webhook secret begins with `whsec_`")]
    Prefix,
    /// What stands behind that is no base64.
    #[error("behind `whsec_` stands base64 with its padding")]
    Base64,
    /// It is too short to be safe, or longer than other implementations take.
    #[error("a webhook secret has 24 to 64 bytes, and this one has {0}")]
    Length(usize),
}

impl Secret {
    /// A new one, from the operating system's random numbers.
    #[must_use]
    pub fn generate() -> Self {
        Self(rand::random::<[u8; NEW]>().to_vec())
    }

    /// A secret of these bytes.
    ///
    /// # Errors
    /// When there are fewer than 24, or more than 64.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SecretError> {
        if LENGTHS.contains(&bytes.len()) { Ok(Self(bytes.to_vec())) } else { Err(SecretError::Length(bytes.len())) }
    }

    /// The text that the receiver is given, `whsec_..`.
    #[must_use]
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        let encoded = text.strip_prefix(PREFIX).ok_or(SecretError::Prefix)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| SecretError::Base64)?;
        Self::from_bytes(&bytes)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(whsec_..)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_new_secret_is_long_enough_and_unlike_the_last() {
        let (one, other) = (Secret::generate(), Secret::generate());
        assert_ne!(one, other);
        assert_eq!(one.expose().parse(), Ok(one.clone()));
        assert_eq!(one.key().len(), 32);
    }

    #[test]
    fn debug_does_not_show_it() {
        let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(whsec_..)");
    }

    #[test]
    fn what_is_none_is_refused_without_being_repeated() {
        let refused = |text: &str| text.parse::<Secret>().unwrap_err();
        assert_eq!(refused("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), SecretError::Prefix);
        assert_eq!(refused("whsec_not base64"), SecretError::Base64);
        assert_eq!(refused("whsec_"), SecretError::Length(0));
        assert_eq!(refused("whsec_c2hvcnQ="), SecretError::Length(5));
        assert_eq!(refused(&format!("whsec_{}", STANDARD.encode([7; 65]))), SecretError::Length(65));
    }

    proptest! {
        #[test]
        fn secrets_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            match Secret::from_bytes(&bytes) {
                Ok(secret) => prop_assert_eq!(secret.expose().parse(), Ok(secret)),
                Err(error) => prop_assert_eq!(error, SecretError::Length(bytes.len())),
            }
        }

        /// Any text is a secret or refused, and what is one says itself again: no two texts mean the same secret.
        #[test]
        fn any_text_is_judged(text in "(whsec_)?[A-Za-z0-9+/=_ -]{0,90}|.{0,60}") {
            if let Ok(secret) = text.parse::<Secret>() {
                prop_assert_eq!(secret.expose(), text);
            }
        }
    }
}
