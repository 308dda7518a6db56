//! Mail: a client that speaks to a mail server, and a small mail server for the example and its tests.

mod mailer;
mod post_office;

pub use mailer::{Letter, MailError, Mailer};
pub use post_office::{Mood, PostOffice, Received};
