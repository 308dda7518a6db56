//! What the README shows under "More of it".
#![deny(warnings)]
#![forbid(unsafe_code)]

use outbox::prelude::*;

#[derive(Clone)]
struct Mailer;

#[derive(Debug)]
struct MailError;

impl std::fmt::Display for MailError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no mail")
    }
}

impl std::error::Error for MailError {}

impl MailError {
    fn is_permanent(&self) -> bool {
        true
    }
}

impl Mailer {
    async fn send(&self, _to: &str, _key: &str) -> Result<(), MailError> {
        Err(MailError)
    }
}

#[derive(Clone)]
struct AuditLog;

impl AuditLog {
    async fn write(&self, _event: Envelope) -> HandlerResult {
        Ok(())
    }
}

/// A command for exactly one handler, with no event: `SendEmail { .. }.enqueue(&mut tx).await?`, also `.delay(..)` or `.key(..)`.
#[job("notifications.send_email")]
struct SendEmail { to: String }

/// Its effect is not in the database, so it hands the key to whoever owns the effect.
#[subscriber(job = "notifications.send_email", max_attempts = 8, backoff = exponential("30s", max = "1h"), timeout = "20s")]
async fn send_email(email: SendEmail, State(mailer): State<Mailer>, key: IdempotencyKey) -> HandlerResult {
    match mailer.send(&email.to, key.as_str()).await {
        Err(error) if error.is_permanent() => Err(Failure::quarantine(error))?, // also: discard, snooze, retry_after, outcome_unknown
        sent => Ok(sent?),
    }
}

mod audit {
    use super::*;

    /// Every event of `order`, undecoded.
    #[subscriber(event = "order.*", idempotent = "the audit table has a unique key on the event's id")]
    async fn write(event: Envelope, State(log): State<AuditLog>) -> HandlerResult { log.write(event).await }
}

async fn start(pool: sqlx::PgPool, mailer: Mailer, log: AuditLog) -> Result<(), Box<dyn std::error::Error>> {
    let outbox = Outbox::builder(pool).state(mailer).state(log).concurrency(32).build().await?;
    let mut tx = outbox.begin().await?;
    SendEmail { to: "ann@example.org".into() }.enqueue(&mut tx).delay(std::time::Duration::from_secs(1)).key("ann").await?;
    tx.commit().await?;
    let failed = outbox.failed(100).await?; // dead letters, with reason and error; outbox.redrive(id) gives one a new life
    let id = failed[0].id;
    outbox.dead_letters().event("order.*").handler("search.index").redrive().await?; // many at once, with the result of each
    outbox.parked().resolve(id, outbox::Answer::TookEffect).await?; // `unknown = park`: nobody knew, and nobody tried again
    Ok(())
}

fn main() {
    let _ = start;
}
