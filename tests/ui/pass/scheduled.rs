//! Scheduled functions of every form compile without a warning.

#![deny(warnings, clippy::pedantic)]

mod inventory {
    use outbox::prelude::*;

    #[derive(Clone)]
    pub struct Shelf;

    /// Stored as `inventory.low_stock_scan`.
    #[scheduled(cron = "0 3 * * *", tz = "Europe/Paris")]
    async fn low_stock_scan(mut tx: Tx<'_>, tick: Tick, State(_shelf): State<Shelf>) -> HandlerResult {
        let _ = (&mut tx, tick.local());
        Ok(())
    }

    #[scheduled(every = "5m", name = "inventory.score", idempotent = "computes the same score again")]
    async fn score() -> Result<(), String> {
        Ok(())
    }

    #[scheduled(
        cron = "*/10 */5 9-17 L JAN,jul MON-FRI",
        tz = "America/New_York",
        name = "inventory.report",
        aliases("inventory.old_report"),
        catch_up = all(10),
        overlap = allow,
        max_attempts = 3,
        backoff = fixed("10s"),
        timeout = "10m",
        priority = 3,
        concurrency = 1,
    )]
    async fn report(key: IdempotencyKey, attempt: Attempt, envelope: Envelope, stop: Cancellation) -> HandlerResult {
        let _ = (key, attempt, envelope, stop);
        Ok(())
    }

    #[scheduled(cron = "0 0 29 2 *", name = "inventory.leap", catch_up = skip, overlap = skip, idempotent = "it only looks")]
    async fn leap() -> HandlerResult {
        Ok(())
    }

    #[scheduled(cron = "0 0 1 * *", name = "inventory.month", catch_up = latest, idempotent = "it only looks")]
    async fn month(_tick: Tick) -> HandlerResult {
        Ok(())
    }
}

fn main() {
    assert_eq!(outbox::Registry::linked().subscribers().len(), 5);
}
