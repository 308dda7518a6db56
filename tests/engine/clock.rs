//! A sandbox's own clock, and `run_due`: time passes when a test says so.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{Executed, JobState, Registry};
use outbox_testing::Sandbox;

use crate::floor::{Asked, Do, Floor, Letter, Stage, ask, fail};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

#[subscriber(event = "work.asked", name = "clock.retried", backoff = fixed("30s"))]
async fn retried(asked: Asked, Attempt(attempt): Attempt, _key: IdempotencyKey) -> HandlerResult {
    match asked.plan.get(attempt as usize - 1) {
        Some(Do::Fail(text)) => Err(text.clone().into()),
        _ => Ok(()),
    }
}

/// Says for which time, on the clocks of Paris, it runs.
#[scheduled(cron = "0 3 * * *", tz = "Europe/Paris", name = "clock.nightly", idempotent = "only notes")]
async fn nightly(tick: Tick, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("nightly {} {}", tick.local(), tick.at.format("%H:%M")));
    Ok(())
}

#[scheduled(every = "6h", name = "clock.quarterly", catch_up = all(10), overlap = allow, idempotent = "only notes")]
async fn quarterly(tick: Tick, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("quarterly {}", tick.at.format("%d %H")));
    Ok(())
}

async fn floor() -> Floor {
    on(Sandbox::new().await.with_clock().await).await
}

async fn on(sandbox: Sandbox) -> Floor {
    sandbox.execute("create table :schema.done (handler text not null, label text not null)").await;
    let stage = Stage::new(sandbox.table("done"), false);
    Floor { sandbox, stage }
}

async fn outbox(floor: &Floor, handlers: &[&str]) -> Outbox {
    let registry = Registry::linked().with_subscribers(|one| handlers.contains(&one.name));
    floor.sandbox.outbox().registry(registry).state(floor.stage.clone()).build().await.unwrap()
}

fn shown(ran: &[Executed]) -> Vec<(&str, u32, JobState, Option<&str>)> {
    ran.iter().map(|one| (one.handler, one.attempt, one.state, one.error.as_deref())).collect()
}

/// A retry runs when its backoff is over by the test's clock, and not a second before.
#[tokio::test]
async fn a_retry_runs_when_the_clock_has_moved_on_by_its_backoff() {
    let floor = floor().await;
    let outbox = outbox(&floor, &["clock.retried"]).await;
    let event = ask(&outbox, "a", [fail("not yet"), fail("nor now")]).await;
    let first = outbox.run_due().await.unwrap();
    assert_eq!(shown(&first), [("clock.retried", 1, JobState::Pending, Some("not yet"))]);
    assert_eq!(first[0].event, Some(event));
    for (attempt, state, error) in [(2, JobState::Pending, Some("nor now")), (3, JobState::Succeeded, None)] {
        floor.sandbox.advance(29 * SECOND).await;
        assert!(outbox.run_due().await.unwrap().is_empty());
        floor.sandbox.advance(SECOND).await;
        assert_eq!(shown(&outbox.run_due().await.unwrap()), [("clock.retried", attempt, state, error)]);
    }
    floor.sandbox.advance(365 * DAY).await;
    assert!(outbox.run_due().await.unwrap().is_empty());
}

/// A day's schedule runs once for each day that passes, at its time of day in its zone, also over the change of the clocks.
#[tokio::test]
async fn a_daily_schedule_runs_once_a_day_on_the_clocks_of_its_zone() {
    let floor = floor().await;
    floor.sandbox.set_clock("2026-03-27T12:00:00Z".parse().unwrap()).await;
    let outbox = outbox(&floor, &["clock.nightly"]).await;
    assert!(outbox.run_due().await.unwrap().is_empty());
    for _ in 0..3 {
        floor.sandbox.advance(DAY).await;
        assert_eq!(outbox.run_due().await.unwrap().handlers(), ["clock.nightly"]);
        assert!(outbox.run_due().await.unwrap().is_empty());
    }
    // On the 29th the clocks of Paris were put forward.
    let nights = ["2026-03-28 03:00:00 02:00", "2026-03-29 03:00:00 01:00", "2026-03-30 03:00:00 01:00"];
    assert_eq!(floor.stage.noted("nightly "), nights);
    floor.sandbox.set_clock("2026-03-31T00:59:59Z".parse().unwrap()).await;
    assert!(outbox.run_due().await.unwrap().is_empty());
    floor.sandbox.advance(SECOND).await;
    assert_eq!(outbox.run_due().await.unwrap().handlers(), ["clock.nightly"]);
}

/// What passes at once is caught up as the schedule says: the newest tick once, or each.
#[tokio::test]
async fn days_that_pass_at_once_are_caught_up_as_the_schedule_says() {
    let floor = floor().await;
    floor.sandbox.set_clock("2026-06-01T01:30:00Z".parse().unwrap()).await;
    let outbox = outbox(&floor, &["clock.nightly", "clock.quarterly"]).await;
    floor.sandbox.advance(DAY).await;
    let ran = outbox.run_due().await.unwrap();
    assert_eq!((ran.len(), ran.handlers().iter().filter(|one| **one == "clock.nightly").count()), (5, 1));
    assert_eq!(floor.stage.noted("quarterly "), ["01 06", "01 12", "01 18", "02 00"]);
    let next = outbox.schedules().of("clock.nightly").await.unwrap().next_tick;
    assert_eq!(next, Some("2026-06-03T01:00:00Z".parse().unwrap()));
}

/// A delayed job waits for its time; what was enqueued in between does not.
#[tokio::test]
async fn a_delayed_job_runs_when_its_time_has_come() {
    let floor = floor().await;
    let outbox = outbox(&floor, &["desk.letter"]).await;
    let mut tx = outbox.begin().await.unwrap();
    outbox.enqueue(&mut tx, &Letter { label: "late".to_owned() }).delay(DAY).await.unwrap();
    outbox.enqueue(&mut tx, &Letter { label: "now".to_owned() }).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(outbox.run_due().await.unwrap().len(), 1);
    floor.sandbox.advance(Duration::from_secs(86_399)).await;
    assert!(outbox.run_due().await.unwrap().is_empty());
    floor.sandbox.advance(SECOND).await;
    assert_eq!(shown(&outbox.run_due().await.unwrap()), [("desk.letter", 1, JobState::Succeeded, None)]);
    assert_eq!(floor.stage.order("desk.letter"), ["now", "late"]);
}

/// Everything that is due runs in one order, and what it publishes behind it, in the test's own task.
#[tokio::test]
async fn what_jobs_publish_runs_too_and_the_order_is_always_the_same() {
    for _ in 0..3 {
        let floor = floor().await;
        let outbox = outbox(&floor, &["till.book", "shelf.follow", "desk.note"]).await;
        for label in ["a", "b"] {
            ask(&outbox, label, [Do::Publish(format!("{label}'s"))]).await;
        }
        floor.sandbox.execute("update :schema.job_live set attempts = 1 where job_type = 'desk.note'").await;
        let ran = outbox.run_due().await.unwrap();
        let handlers = ran.handlers();
        assert_eq!(handlers[4..], ["shelf.follow", "shelf.follow"], "{handlers:?}");
        assert_eq!(floor.stage.order("till.book"), ["a", "b"]);
        assert_eq!(floor.stage.order("shelf.follow"), ["a's", "b's"]);
        assert!(ran.iter().all(|one| one.state == JobState::Succeeded), "{ran:#?}");
    }
}

/// Time stands still until it is moved, for what is published and for the test's own SQL, and runs on elsewhere.
#[tokio::test]
async fn time_stands_still_for_the_whole_sandbox() {
    let floor = floor().await;
    let noon = "2030-01-01T12:00:00Z".parse().unwrap();
    floor.sandbox.set_clock(noon).await;
    assert_eq!(floor.sandbox.now().await, noon);
    let outbox = outbox(&floor, &["desk.note"]).await;
    ask(&outbox, "a", []).await;
    outbox.run_due().await.unwrap();
    let at = |column: &str, table: &str| {
        format!(
            "select count(*) from :schema.{table} where {column} = '2030-01-01 12:00Z' and now() = {column} and clock_timestamp() = {column}"
        )
    };
    for (column, table) in
        [("occurred_at", "event"), ("created_at", "job"), ("available_at", "job"), ("completed_at", "job")]
    {
        assert_eq!(floor.sandbox.number(&at(column, table)).await, 1, "{table}.{column}");
    }
    assert_eq!(floor.sandbox.number("select (pg_catalog.now() < now())::int::bigint").await, 1);
}

/// The lease of a worker that runs is as long behind the move as before it.
#[tokio::test]
async fn a_running_workers_lease_moves_with_the_clock() {
    let floor = floor().await;
    let row = "insert into :schema.worker (id, name, ranges, expires_at) values (gen_random_uuid(), 'a', '{}', now() + interval '10 s')";
    floor.sandbox.execute(row).await;
    floor.sandbox.advance(DAY).await;
    let left = "select (extract(epoch from expires_at - now()))::bigint from :schema.worker";
    assert_eq!(floor.sandbox.number(left).await, 10);
}

/// The clock goes back only while there is nothing that it would be wrong for.
#[tokio::test]
#[should_panic(expected = "goes back only before anything was published or declared")]
async fn the_clock_does_not_go_back() {
    let floor = floor().await;
    let outbox = outbox(&floor, &["desk.note"]).await;
    ask(&outbox, "a", []).await;
    floor.sandbox.set_clock("2020-01-01T00:00:00Z".parse().unwrap()).await;
}

/// The same in a database of the test's own.
#[tokio::test]
async fn a_database_of_its_own_has_a_clock_too() {
    let floor = on(Sandbox::database().await.with_clock().await).await;
    let outbox = outbox(&floor, &["desk.note"]).await;
    ask(&outbox, "a", []).await;
    floor.sandbox.advance(DAY).await;
    assert_eq!(outbox.run_due().await.unwrap().handlers(), ["desk.note"]);
    // What retention looks at is older by that much too.
    assert_eq!(
        floor
            .sandbox
            .number("select count(*) from :schema.event where occurred_at = now() - interval '24 hours'")
            .await,
        1
    );
}
