//! The header that a browser sends when it comes back.

use std::convert::Infallible;
use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

/// The `Last-Event-ID` of a request, if it has one: for `resume(last.as_deref())`.
///
/// It is never refused: one that means nothing is answered by a `refetch`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastEventId(pub Option<String>);

impl Deref for LastEventId {
    type Target = Option<String>;

    fn deref(&self) -> &Option<String> {
        &self.0
    }
}

impl<S: Send + Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let header = parts.headers.get("last-event-id");
        // No text is no position either, and that it came back must not be forgotten.
        Ok(Self(header.map(|value| value.to_str().unwrap_or_default().to_owned())))
    }
}
