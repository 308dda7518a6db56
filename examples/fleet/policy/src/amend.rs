//! A policy is changed.

use contracts::{Money, PolicyAmended, PolicyState};
use outbox::{Metadata, Outbox};
use platform::Emit as _;
use serde::{Deserialize, Serialize};

use crate::agent::Right;
use crate::command::{Checked, Command};
use crate::read;
use crate::refused::{Refused, Result};

/// Change what a policy costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Amend {
    /// Which one.
    pub policy_id: String,
    /// As whoever asks knows it: a change of somebody else's in between is not written over.
    pub revision: i32,
    /// What it costs from now on.
    pub premium: Money,
}

impl Command for Amend {
    const RIGHT: Right = Right::Amend;

    fn validate(&self) -> Result<()> {
        read::validate(&self.premium)
    }
}

/// Changes what a policy costs, and says so.
///
/// # Errors
/// When it does not run, or was changed meanwhile, or the database refuses. Nothing has happened then.
pub async fn amend(outbox: &Outbox, checked: Checked<Amend>) -> Result<PolicyState> {
    let Checked { command, by } = checked;
    let mut tx = outbox.begin().await?;
    let amended = sqlx::query(include_str!("amend.sql"))
        .bind(&command.policy_id)
        .bind(command.revision)
        .bind(command.premium.cents)
        .bind(&command.premium.currency);
    let amended = amended.fetch_optional(&mut *tx).await?.ok_or(Refused::Conflict)?;
    let PolicyState { policy_id, holder, premium, status, revision } = read::state(&amended)?;
    let fact = PolicyAmended { policy_id, holder, premium, revision };
    outbox.scope_with(Metadata::new().actor(by.name), fact.emit(&mut tx)).await?;
    tx.commit().await?;
    let PolicyAmended { policy_id, holder, premium, revision } = fact;
    Ok(PolicyState { policy_id, holder, premium, status, revision })
}
