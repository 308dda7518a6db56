//! What the server says of a refused statement, without the row that it quotes, and without a line that means nothing to its reader.
//!
//! `DETAIL: Failing row contains (..)` holds the payload, and `CONTEXT` a part of it. The message, the code and the names of table and
//! constraint say what is wrong; whoever may read the payload finds it in the database.
//!
//! sqlx prints ` at line 3655` behind the message: a line of the server's own C source, not of the statement.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use sqlx::error::{DatabaseError, ErrorKind};

/// The same error; an answer of the server loses its detail and context, for `Debug` too.
pub(crate) fn discreet(error: sqlx::Error) -> sqlx::Error {
    match error {
        sqlx::Error::Database(error) => sqlx::Error::Database(Box::new(Discreet { error, is_whole: false })),
        other => other,
    }
}

/// The same error; an answer of the server keeps everything, and only its text loses the line. For statements that carry nothing of
/// an application.
pub(crate) fn without_line(error: sqlx::Error) -> sqlx::Error {
    match error {
        sqlx::Error::Database(error) => sqlx::Error::Database(Box::new(Discreet { error, is_whole: true })),
        other => other,
    }
}

struct Discreet {
    error: Box<dyn DatabaseError>,
    is_whole: bool,
}

impl fmt::Debug for Discreet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole {
            return fmt::Debug::fmt(&self.error, f);
        }
        f.debug_struct("DatabaseError")
            .field("code", &self.error.code())
            .field("message", &self.error.message())
            .field("table", &self.error.table())
            .field("constraint", &self.error.constraint())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Discreet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.error.message())
    }
}

impl StdError for Discreet {}

impl DatabaseError for Discreet {
    fn message(&self) -> &str {
        self.error.message()
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.error.code()
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        if self.is_whole { self.error.as_error() } else { self }
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        if self.is_whole { self.error.as_error_mut() } else { self }
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        if self.is_whole { self.error.into_error() } else { self }
    }

    fn is_transient_in_connect_phase(&self) -> bool {
        self.error.is_transient_in_connect_phase()
    }

    fn constraint(&self) -> Option<&str> {
        self.error.constraint()
    }

    fn table(&self) -> Option<&str> {
        self.error.table()
    }

    fn kind(&self) -> ErrorKind {
        self.error.kind()
    }
}
