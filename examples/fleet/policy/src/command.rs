//! A command, before it is carried out.

use crate::agent::{Agent, Right};
use crate::refused::Result;

/// What somebody asks for.
pub trait Command {
    /// What one must be allowed to do for it.
    const RIGHT: Right;

    /// Whether it makes sense by itself.
    ///
    /// # Errors
    /// When it does not; the text says why.
    fn validate(&self) -> Result<()>;
}

/// A command that makes sense, given by somebody who may give it. What carries commands out takes nothing else, and [`check`] alone
/// makes one, so that no transaction is begun for any other.
///
/// ```compile_fail
/// # async fn example(outbox: &outbox::Outbox, by: policy::Agent, release: platform::Release) {
/// let command = policy::Cancel { policy_id: "P-1".to_owned(), revision: 1 };
/// policy::cancel(outbox, policy::Checked { command, by }).await.unwrap(); // its fields are private
/// # }
/// ```
#[derive(Debug)]
pub struct Checked<C> {
    pub(crate) command: C,
    pub(crate) by: Agent,
}

/// Checks a command: whether it is allowed, and whether it makes sense. Needs no database.
///
/// # Errors
/// When it is not.
pub fn check<C: Command>(command: C, by: Agent) -> Result<Checked<C>> {
    by.may(C::RIGHT)?;
    command.validate()?;
    Ok(Checked { command, by })
}
