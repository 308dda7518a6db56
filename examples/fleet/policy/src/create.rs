//! A policy is sold.

use contracts::{Money, PolicyCreated, PolicyCreatedV1, PolicyCreatedV2, PolicyState, Status};
use outbox::{Metadata, Outbox, PublishError, Published};
use platform::{Emit as _, Release};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::agent::Right;
use crate::command::{Checked, Command};
use crate::read;
use crate::refused::{Refused, Result};

/// Sell a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Create {
    /// Its number, chosen by whoever asks: so a request that is repeated sells nothing twice.
    pub policy_id: String,
    /// Who is insured.
    pub holder: String,
    /// What it costs.
    pub premium: Money,
    /// For how many months.
    #[serde(default = "a_year")]
    pub term: u32,
}

fn a_year() -> u32 {
    12
}

impl Command for Create {
    const RIGHT: Right = Right::Sell;

    fn validate(&self) -> Result<()> {
        let is_word = |text: &str| !text.trim().is_empty() && text.len() <= 100;
        if !is_word(&self.policy_id) || !is_word(&self.holder) {
            return Err(Refused::Invalid("a policy has a number and a holder, each of 1 to 100 bytes"));
        }
        if !(1..=120).contains(&self.term) {
            return Err(Refused::Invalid("a policy runs for 1 to 120 months"));
        }
        read::validate(&self.premium)
    }
}

/// Sells a policy: the row and the fact commit together, or not at all. One that is there already, exactly so, is answered as it is now.
///
/// # Errors
/// When the number is another policy's, when this release cannot say it, or when the database refuses. Nothing has happened then.
pub async fn create(outbox: &Outbox, release: Release, checked: Checked<Create>) -> Result<PolicyState> {
    let Checked { command, by } = checked;
    sayable(&command, release)?;
    let mut tx = outbox.begin().await?;
    let created = sqlx::query(include_str!("create.sql"))
        .bind(&command.policy_id)
        .bind(&command.holder)
        .bind(command.premium.cents)
        .bind(&command.premium.currency)
        .bind(command.term.cast_signed());
    if created.execute(&mut *tx).await?.rows_affected() == 0 {
        tx.rollback().await?;
        return asked_again(outbox, &command).await;
    }
    outbox.scope_with(Metadata::new().actor(by.name), tell(&command, release, &mut tx)).await?;
    tx.commit().await?;
    Ok(PolicyState {
        policy_id: command.policy_id,
        holder: command.holder,
        premium: command.premium,
        status: Status::Active,
        revision: 1,
    })
}

/// What the version that is published cannot say is not sold.
fn sayable(command: &Create, release: Release) -> Result<()> {
    if release < Release::Second && command.premium.currency != "EUR" {
        return Err(Refused::Invalid("this release sells in euros only"));
    }
    if release < Release::Third && command.term != a_year() {
        return Err(Refused::Invalid("this release sells for a year only"));
    }
    Ok(())
}

async fn asked_again(outbox: &Outbox, command: &Create) -> Result<PolicyState> {
    let found = read::find(outbox.pool(), &command.policy_id).await?.ok_or(Refused::Conflict)?;
    // It may have been amended since, and is no other for that.
    let is_the_same = found.revision > 1 || (&found.holder, &found.premium) == (&command.holder, &command.premium);
    if is_the_same { Ok(found) } else { Err(Refused::Conflict) }
}

/// The fact, in the version of this release.
async fn tell(command: &Create, release: Release, tx: &mut PgConnection) -> Result<Published, PublishError> {
    let Create { policy_id, holder, premium, term } = command.clone();
    match release {
        Release::First => PolicyCreatedV1 { policy_id, holder, premium_cents: premium.cents }.emit(tx).await,
        Release::Second => PolicyCreatedV2 { policy_id, holder, premium }.emit(tx).await,
        Release::Third => PolicyCreated { policy_id, holder, premium, term }.emit(tx).await,
    }
}
