//! For receivers: whether a request comes from who has the secret, and is fresh.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac as _;

use crate::secret::Secret;
use crate::signature::{self, ID, SIGNATURE, TIMESTAMP, mac};

/// How far the time of a message may be from the receiver's clock, either way, as Standard Webhooks says.
pub const TOLERANCE: Duration = Duration::from_mins(5);
/// How many signatures of one header are looked at. A sender has one or two secrets; each costs a hash of the body.
const MOST_SIGNATURES: usize = 16;

/// Checks what a webhook brings, before anything is done about it.
///
/// ```
/// use outbox_webhooks::{Secret, Verifier};
///
/// # fn receive(header: impl Fn(&str) -> Option<&'static str>, body: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
/// let verifier = Verifier::new([secret]);
///
/// // With axum: |name| headers.get(name).and_then(|value| value.to_str().ok())
/// let message = verifier.verify(header, body)?; // the bytes as they came, not JSON that was written again
/// // A message may come more than once: remember `message.id`, and do nothing the second time.
/// # let _ = message;
/// # Ok(())
/// # }
/// ```
///
/// Several secrets may be right at the same time, for a rotation on the receiver's side.
#[derive(Debug, Clone)]
pub struct Verifier {
    secrets: Vec<Secret>,
    tolerance: Duration,
}

/// A message that was sent by somebody who has the secret, a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The message's id: the same when it comes again.
    pub id: String,
    /// When this attempt was signed, in seconds since 1970.
    pub timestamp: i64,
}

/// Why a request is not to be believed. Answer with a status of 400 or 401, and do nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A header is not there, or is empty.
    #[error("the header `{0}` is missing")]
    MissingHeader(&'static str),
    /// The time is no whole number of seconds.
    #[error("the header `webhook-timestamp` is no number of seconds since 1970")]
    Timestamp,
    /// The message is older than the tolerance: it may be a copy that somebody kept.
    #[error("the message is {0:?} old: refused as a possible replay; if it is not one, look at this machine's clock")]
    TooOld(Duration),
    /// The message is from a time that is not yet.
    #[error("the message is dated {0:?} ahead of this machine's clock")]
    TooNew(Duration),
    /// No signature is of a scheme that is known here.
    #[error("the header `webhook-signature` holds no signature of the scheme `v1`")]
    NoSignature,
    /// No signature fits: another secret, or another body.
    #[error("no signature fits: another secret, or a body that is not the one that was sent, byte for byte")]
    Mismatch,
}

impl Verifier {
    /// A verifier that believes whoever has one of these secrets. Without any it believes nobody.
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        Self { secrets: secrets.into_iter().collect(), tolerance: TOLERANCE }
    }

    /// How far the time of a message may be from this machine's clock, either way. Default: [`TOLERANCE`].
    #[must_use]
    pub fn tolerance(self, tolerance: Duration) -> Self {
        Self { tolerance, ..self }
    }

    /// Whether this request is to be believed. `header` looks a header up by its lower-case name; header names have no case, so it
    /// must find them however they were written.
    ///
    /// # Errors
    /// See [`VerifyError`].
    pub fn verify<'h>(&self, header: impl Fn(&str) -> Option<&'h str>, body: &[u8]) -> Result<Verified, VerifyError> {
        self.verify_at(header, body, SystemTime::now())
    }

    /// The same at another time than now, for tests.
    ///
    /// # Errors
    /// See [`VerifyError`].
    pub fn verify_at<'h>(
        &self,
        header: impl Fn(&str) -> Option<&'h str>,
        body: &[u8],
        now: SystemTime,
    ) -> Result<Verified, VerifyError> {
        let required = |name| match header(name) {
            Some(value) if !value.trim().is_empty() => Ok(value.trim()),
            _ => Err(VerifyError::MissingHeader(name)),
        };
        let (id, time, signatures) = (required(ID)?, required(TIMESTAMP)?, required(SIGNATURE)?);
        let timestamp = seconds(time)?;
        self.is_fresh(timestamp, now)?;
        let tags = tags(signatures);
        if tags.is_empty() {
            return Err(VerifyError::NoSignature);
        }
        // The text of the time as it came: that is what was signed.
        let fits = |secret, tag: &Vec<u8>| mac(secret, id, time, body).verify_slice(tag).is_ok();
        if self.secrets.iter().any(|secret| tags.iter().any(|tag| fits(secret, tag))) {
            Ok(Verified { id: id.to_owned(), timestamp })
        } else {
            Err(VerifyError::Mismatch)
        }
    }

    fn is_fresh(&self, timestamp: i64, now: SystemTime) -> Result<(), VerifyError> {
        // Whole seconds on both sides: the header has no others.
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        let apart = Duration::from_secs(now.abs_diff(timestamp));
        match apart > self.tolerance {
            true if timestamp < now => Err(VerifyError::TooOld(apart)),
            true => Err(VerifyError::TooNew(apart)),
            false => Ok(()),
        }
    }
}

/// Digits only: `+5` and `5.0` are no times that a sender writes.
fn seconds(text: &str) -> Result<i64, VerifyError> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain).ok_or(VerifyError::Timestamp)
}

/// The signatures of the scheme that is known here, of however many there are. One that is no base64 fits nothing.
fn tags(header: &str) -> Vec<Vec<u8>> {
    let ours = |one: &str| {
        one.split_once(',').filter(|(scheme, _)| *scheme == signature::SCHEME).map(|(_, tag)| tag.to_owned())
    };
    let all = header.split_ascii_whitespace().filter_map(ours).take(MOST_SIGNATURES);
    all.map(|tag| STANDARD.decode(tag).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests;
