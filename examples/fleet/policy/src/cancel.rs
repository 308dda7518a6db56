//! A policy is ended.

use contracts::{PolicyCancelled, PolicyState};
use outbox::{Metadata, Outbox};
use platform::Emit as _;
use serde::{Deserialize, Serialize};

use crate::agent::Right;
use crate::command::{Checked, Command};
use crate::read;
use crate::refused::{Refused, Result};

/// End a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cancel {
    /// Which one.
    pub policy_id: String,
    /// As whoever asks knows it.
    pub revision: i32,
}

impl Command for Cancel {
    const RIGHT: Right = Right::Cancel;

    fn validate(&self) -> Result<()> {
        if self.revision < 1 { Err(Refused::Invalid("a policy begins with revision 1")) } else { Ok(()) }
    }
}

/// Ends a policy, and says so.
///
/// # Errors
/// When it does not run, or was changed meanwhile, or the database refuses. Nothing has happened then.
pub async fn cancel(outbox: &Outbox, checked: Checked<Cancel>) -> Result<PolicyState> {
    let Checked { command, by } = checked;
    let mut tx = outbox.begin().await?;
    let cancelled = sqlx::query(include_str!("cancel.sql")).bind(&command.policy_id).bind(command.revision);
    let cancelled = cancelled.fetch_optional(&mut *tx).await?.ok_or(Refused::Conflict)?;
    let PolicyState { policy_id, holder, premium, status, revision } = read::state(&cancelled)?;
    let fact = PolicyCancelled { policy_id, holder, premium, revision };
    outbox.scope_with(Metadata::new().actor(by.name), fact.emit(&mut tx)).await?;
    tx.commit().await?;
    let PolicyCancelled { policy_id, holder, premium, revision } = fact;
    Ok(PolicyState { policy_id, holder, premium, status, revision })
}
