//! The signature: HMAC-SHA256 over `id.timestamp.body`, as `v1,` and base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::secret::Secret;

/// The header with the message's id: the same at every attempt, so that a receiver knows what it has had.
pub const ID: &str = "webhook-id";
/// The header with the time of this attempt, in seconds since 1970.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The header with the signatures, one a secret, with spaces between them.
pub const SIGNATURE: &str = "webhook-signature";

/// The scheme of symmetric signatures.
pub(crate) const SCHEME: &str = "v1";

/// The value of `webhook-signature` for a message: one signature a secret, so that during a rotation receivers with either secret
/// find theirs.
///
/// Its form is that of [Standard Webhooks]: `v1,<base64 of HMAC-SHA256(secret, id.timestamp.body)>`.
///
/// ```
/// use outbox_webhooks::{Secret, sign};
///
/// let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
/// let signature = sign([&secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
/// assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
/// # Ok::<(), outbox_webhooks::SecretError>(())
/// ```
///
/// [Standard Webhooks]: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
#[must_use]
pub fn sign<'s>(secrets: impl IntoIterator<Item = &'s Secret>, id: &str, timestamp: i64, body: &[u8]) -> String {
    let signed = secrets.into_iter().map(|secret| {
        let tag = mac(secret, id, &timestamp.to_string(), body).finalize().into_bytes();
        format!("{SCHEME},{}", STANDARD.encode(tag))
    });
    signed.collect::<Vec<_>>().join(" ")
}

/// The code over a message, not finished, so that it can be compared in constant time.
pub(crate) fn mac(secret: &Secret, id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.key()).expect("a key of any length will do");
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    mac
}
