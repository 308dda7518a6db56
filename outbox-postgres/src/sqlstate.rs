//! The SQLSTATE codes that the engine tells apart, and what each means for a statement of its own.
//!
//! <https://www.postgresql.org/docs/current/errcodes-appendix.html>

pub(crate) const SERIALIZATION_FAILURE: &str = "40001";
pub(crate) const DEADLOCK_DETECTED: &str = "40P01";
pub(crate) const LOCK_NOT_AVAILABLE: &str = "55P03";
pub(crate) const QUERY_CANCELED: &str = "57014";
pub(crate) const UNDEFINED_TABLE: &str = "42P01";
pub(crate) const INVALID_SCHEMA_NAME: &str = "3F000";
pub(crate) const UNDEFINED_COLUMN: &str = "42703";
pub(crate) const UNDEFINED_FUNCTION: &str = "42883";
pub(crate) const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// What to do about an error of an engine statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The connection is gone or its answer is unknown: connect again, wait a little longer each time.
    Connection,
    /// Rows moved under the statement: ordinary, repeat at once.
    Conflict,
    /// A row was locked for too long by somebody else: leave it, go on with the others.
    Locked,
    /// The tables are not there or not ours to use: only a person can help.
    Setup,
    /// This input is refused; the same input will be refused again.
    Refused,
}

/// The class of an error.
pub(crate) fn classify(error: &sqlx::Error) -> Class {
    let Some(code) = code(error) else { return Class::Connection };
    match code.as_str() {
        SERIALIZATION_FAILURE | DEADLOCK_DETECTED => Class::Conflict,
        LOCK_NOT_AVAILABLE | QUERY_CANCELED => Class::Locked,
        UNDEFINED_TABLE | UNDEFINED_COLUMN | UNDEFINED_FUNCTION | INVALID_SCHEMA_NAME => Class::Setup,
        code => match &code[..2.min(code.len())] {
            // data, integrity, cardinality, a program limit, an exception raised by a trigger
            "21" | "22" | "23" | "54" | "P0" => Class::Refused,
            "42" => Class::Setup,
            // connection exception, insufficient resources, operator intervention, system error, internal error
            _ => Class::Connection,
        },
    }
}

/// The SQLSTATE of an error that the server answered.
pub(crate) fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).map(std::borrow::Cow::into_owned)
}
