//! What was charged.

use contracts::{InvoiceIssued, Money};
use outbox::{EventId, HandlerResult};
use platform::Emit as _;
use sqlx::PgConnection;

/// Charges for a policy, and says so. Nothing in the tables would keep it from charging twice: the handler's transaction does, in which the
/// charge, its fact and the job's completion are one commit.
///
/// # Errors
/// When the database refuses. Nothing is charged then.
pub async fn charge(tx: &mut PgConnection, policy_id: &str, amount: &Money, event: EventId) -> HandlerResult {
    let charge =
        sqlx::query("insert into billing.ledger (policy_id, cents, currency, event_id) values ($1, $2, $3, $4)");
    let charge = charge.bind(policy_id).bind(amount.cents).bind(&amount.currency).bind(event.as_uuid());
    charge.execute(&mut *tx).await?;
    let (invoice, policy_id) = (format!("I-{policy_id}"), policy_id.to_owned());
    InvoiceIssued { invoice, policy_id, amount: amount.clone() }.emit(tx).await?;
    Ok(())
}
