//! What billing says.

use contracts::InvoiceIssued;
use outbox::prelude::*;

/// Notes that a policy was charged for.
#[subscriber(event = "invoice.issued", name = "policy.note_invoice")]
async fn note_invoice(invoice: InvoiceIssued, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    let noted =
        sqlx::query("insert into policy.invoices (invoice, policy_id, cents, currency) values ($1, $2, $3, $4)");
    let noted = noted.bind(invoice.invoice).bind(invoice.policy_id).bind(invoice.amount.cents);
    noted.bind(invoice.amount.currency).execute(&mut *tx).await.map(drop)
}
