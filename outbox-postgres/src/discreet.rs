//! What the server says of a refused statement, without the row that it quotes.
//!
//! `DETAIL: Failing row contains (..)` holds the payload, and `CONTEXT` a part of it. The message, the code and the names of table and
//! constraint say what is wrong; whoever may read the payload finds it in the database.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use sqlx::error::{DatabaseError, ErrorKind};

/// The same error; an answer of the server loses its detail and context, for `Debug` too.
pub(crate) fn discreet(error: sqlx::Error) -> sqlx::Error {
    match error {
        sqlx::Error::Database(error) => sqlx::Error::Database(Box::new(Discreet(error))),
        other => other,
    }
}

struct Discreet(Box<dyn DatabaseError>);

impl fmt::Debug for Discreet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseError")
            .field("code", &self.0.code())
            .field("message", &self.0.message())
            .field("table", &self.0.table())
            .field("constraint", &self.0.constraint())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Discreet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.message())
    }
}

impl StdError for Discreet {}

impl DatabaseError for Discreet {
    fn message(&self) -> &str {
        self.0.message()
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.0.code()
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn is_transient_in_connect_phase(&self) -> bool {
        self.0.is_transient_in_connect_phase()
    }

    fn constraint(&self) -> Option<&str> {
        self.0.constraint()
    }

    fn table(&self) -> Option<&str> {
        self.0.table()
    }

    fn kind(&self) -> ErrorKind {
        self.0.kind()
    }
}
