//! One job at a time to a worker at rest: when the next one comes, as it comes to the peers (`benches/peers/protocol`).

use std::time::{Duration, Instant};

use sqlx::PgPool;
use tokio::time::sleep;

/// Jobs before it counts.
pub(super) const WARM_UP: u64 = 20;
const GLANCE: Duration = Duration::from_millis(2);

/// Long enough for the worker to come to rest, and each time another part of whatever interval it polls in.
pub(super) async fn pause(number: u64) {
    sleep(Duration::from_millis(40 + number * 37 % 100)).await;
}

/// Until every job is settled.
pub(super) async fn at_rest(pool: &PgPool) -> Result<(), sqlx::Error> {
    while sqlx::query_scalar("select exists (select from system.job_live)").fetch_one(pool).await? {
        sleep(GLANCE).await;
    }
    Ok(())
}

/// Less than zero where the second moment came first.
pub(super) fn milliseconds(from: Instant, to: Instant) -> f64 {
    let between = |from: Instant, to: Instant| to.duration_since(from).as_secs_f64() * 1e3;
    if to < from { -between(to, from) } else { between(from, to) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_before_the_answer_is_less_than_zero() {
        let early = Instant::now();
        let late = early + Duration::from_millis(3);
        assert!((milliseconds(early, late) - 3.0).abs() < 1e-9);
        assert!((milliseconds(late, early) + 3.0).abs() < 1e-9);
    }
}
