//! Why something was not done.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use outbox::{ChangesError, LiveError, OperationError, PublishError};
use outbox_webhooks::{EndpointError, RedeliverError};
use serde_json::json;

/// Why something was not done. Whatever was written meanwhile is rolled back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is not there, or is not for this user's eyes, who must not see the difference.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// Nobody has come in, or with a token that opens nothing.
    #[error("sign in first")]
    SignedOut,
    /// A message is not signed with the secret, or is too old.
    #[error("the signature is not right")]
    Unsigned,
    /// The user is known and may not.
    #[error("only {0} may do this")]
    NotAllowed(&'static str),
    /// What was asked for makes no sense; the text says why.
    #[error("{0}")]
    Invalid(String),
    /// The news could not be published.
    #[error("the event could not be published")]
    Publish(#[from] PublishError),
    /// The changed fields could not be written down.
    #[error("the change could not be written down")]
    Changes(#[from] ChangesError),
    /// An operator's command did not work.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// A webhook's settings make no sense, or there is no such webhook.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A delivery cannot be sent again now.
    #[error(transparent)]
    Redeliver(#[from] RedeliverError),
    /// There is no live stream.
    #[error("there is no live stream")]
    Live(#[from] LiveError),
    /// The search index could not be asked.
    #[error("the search index does not answer")]
    Search(#[from] crate::search::SearchError),
    /// The database refused a statement.
    #[error("the database refused")]
    Database(#[source] sqlx::Error),
}

/// What comes of something that can be refused.
pub type Result<T, E = Refused> = std::result::Result<T, E>;

impl From<sqlx::Error> for Refused {
    /// A constraint that does not hold is the user's mistake, and is said by the constraint's name.
    fn from(error: sqlx::Error) -> Self {
        let broken = error.as_database_error().and_then(|refusal| {
            let kind = refusal.kind();
            let theirs = !matches!(kind, sqlx::error::ErrorKind::Other);
            theirs.then(|| refusal.constraint().unwrap_or("a rule of the table").to_owned())
        });
        match broken {
            Some(rule) => Self::Invalid(format!("this does not satisfy `{rule}`")),
            None => Self::Database(error),
        }
    }
}

impl Refused {
    /// Whether asking again, unchanged, is of no use.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.status().is_client_error()
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::SignedOut | Self::Unsigned => StatusCode::UNAUTHORIZED,
            Self::NotAllowed(_) => StatusCode::FORBIDDEN,
            Self::Endpoint(EndpointError::Database(_)) | Self::Redeliver(RedeliverError::Database(_)) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Invalid(_)
            | Self::Operation(
                OperationError::NotFailed(_) | OperationError::Parked(_) | OperationError::AnotherIsLive(_),
            )
            | Self::Endpoint(_)
            | Self::Redeliver(_) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = self.status();
        if status.is_server_error() {
            tracing::error!(error = &self as &dyn std::error::Error, "a request failed");
        }
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
