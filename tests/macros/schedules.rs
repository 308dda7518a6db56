//! What `#[scheduled]` registers, and how its function is called.

use outbox::prelude::*;
use outbox::{Cadence, CatchUp, Overlap, Schedule};
use outbox_core::{Guard, Outcome, Source, TypeMap, Verdict, Versions};

use crate::support::{handler, run};

#[scheduled(cron = "0 3 * * *", tz = "Europe/Paris")]
async fn low_stock_scan(Attempt(attempt): Attempt, tick: Tick, key: IdempotencyKey) -> HandlerResult {
    if tick.by_hand {
        return Err(Failure::discard(format!("{} {attempt} {key}", tick.local())).into());
    }
    Ok(())
}

#[scheduled(every = "5m", name = "shop.score", aliases("shop.old_score"), catch_up = all(7), overlap = allow, timeout = "2m", idempotent = "the same again")]
async fn score() -> Result<(), String> {
    Ok(())
}

#[test]
fn a_schedule_is_registered_with_its_handler() {
    let scan = handler("schedules.low_stock_scan");
    let cadence = Cadence::Cron { line: "0 3 * * *", zone: "Europe/Paris" };
    assert_eq!(scan.source, Source::Schedule(Schedule { cadence, catch_up: CatchUp::Latest, overlap: Overlap::Skip }));
    assert_eq!((scan.versions, scan.guard), (Versions::Only(&[1]), Guard::Key));
    let score = handler("shop.score");
    let schedule = Schedule { cadence: Cadence::Every("5m"), catch_up: CatchUp::All(7), overlap: Overlap::Allow };
    assert_eq!((score.schedule(), score.original_name(), score.module()), (Some(schedule), "shop.old_score", "shop"));
    assert_eq!(score.settings.timeout, std::time::Duration::from_mins(2));
}

/// A scheduled function is called with its tick, which says the time of the schedule and not of the execution.
#[tokio::test]
async fn a_scheduled_function_is_called_with_its_tick() {
    let state = TypeMap::default();
    let stored = r#"{"at": "2026-07-01T01:00:00Z", "zone": "Europe/Paris", "by_hand": true}"#;
    let Outcome::Failed { error, verdict: Verdict::Discard } = run("schedules.low_stock_scan", stored, &state).await
    else {
        panic!("it discards a run by hand");
    };
    assert_eq!(error, "2026-07-01 03:00:00 3 01ARZ3NDEKTSV4RRFFQ69G5FAV:schedules.low_stock_scan");
    assert_eq!(run("shop.score", stored, &state).await, Outcome::Done);
    let odd = run("schedules.low_stock_scan", r#"{"at": "soon"}"#, &state).await;
    assert!(matches!(odd, Outcome::Failed { verdict: Verdict::Quarantine, .. }), "{odd:?}");
}

/// A unit test calls the function as any other.
#[tokio::test]
async fn a_unit_test_calls_the_function() {
    let tick = Tick::new("2026-07-01T01:00:00Z".parse().unwrap(), "Europe/Paris");
    low_stock_scan(Attempt(1), tick, IdempotencyKey::new("k")).await.unwrap();
    score().await.unwrap();
}
