//! Notifications: who is to know what, and the mail that tells them.
//!
//! An event becomes rows by the [`rules`], at most one for each user; a row becomes a mail, at once or in the digest of the
//! night, as its owner wishes. Rows and the jobs that send their mail are written in one transaction.

mod audience;
mod digest;
mod http;
mod inbox;
mod mail;
pub mod rules;

pub use digest::{SendDigest, daily_digest, send_digest};
pub(crate) use http::routes;
pub use inbox::{Inbox, Notification, inbox, mark_read};
pub use mail::{SendEmail, send_email};

/// The tables of this module. May be run again.
pub const TABLES: &str = include_str!("tables.sql");
