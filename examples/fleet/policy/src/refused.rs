//! Why a command was not carried out.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use outbox::PublishError;
use serde_json::json;

use crate::agent::Right;

/// Why something was not done. Nothing of it has happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The token opens nothing.
    #[error("come in with a token")]
    Stranger,
    /// Known, and not allowed to.
    #[error("{0} has no right to {1:?}")]
    NotAllowed(&'static str, Right),
    /// It makes no sense; the text says why.
    #[error("{0}")]
    Invalid(&'static str),
    /// It is not there.
    #[error("there is no such policy")]
    NotFound,
    /// It is not as whoever asked thought: read it again.
    #[error("the policy is another, was changed meanwhile, or does not run: read it again")]
    Conflict,
    /// The fact could not be published.
    #[error("the fact could not be published")]
    Publish(#[from] PublishError),
    /// The database refused a statement, or does not answer.
    #[error("the database refused")]
    Database(#[from] sqlx::Error),
}

/// What comes of something that can be refused.
pub type Result<T, E = Refused> = std::result::Result<T, E>;

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Stranger => StatusCode::UNAUTHORIZED,
            Self::NotAllowed(..) => StatusCode::FORBIDDEN,
            Self::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Conflict => StatusCode::CONFLICT,
            Self::Publish(_) | Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        if status.is_server_error() {
            tracing::error!(error = &self as &dyn std::error::Error, "a request failed");
        }
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
