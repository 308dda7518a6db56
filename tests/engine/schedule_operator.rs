//! An operator's word on a schedule: run now, pause, resume.

use outbox::{CatchUp, OperationError, Overlap};
use outbox_testing::eventually;

use crate::floor::Worker;
use crate::schedule::{ages, jobs, minutely, outbox, overdue};
use crate::sql::{text, texts};
use crate::support::Shop;

/// A paused schedule takes no tick, over restarts and also when its line is declared anew; resumed, it goes on with its next tick, and does
/// not catch up what fell into the pause.
#[tokio::test]
async fn a_paused_schedule_stays_paused_over_restarts_and_catches_nothing_up() {
    let shop = Shop::new().await;
    let all = || {
        [
            minutely("night.pulse", CatchUp::All(10), Overlap::Allow),
            minutely("night.other", CatchUp::Latest, Overlap::Allow),
        ]
    };
    let built = outbox(&shop, all()).build().await.unwrap();
    built.schedules().pause("night.pulse").await.unwrap();
    let paused = built.schedules().of("night.pulse").await.unwrap().paused_at;
    assert!(paused.is_some());
    built.schedules().pause("night.pulse").await.unwrap();
    for _ in 0..2 {
        let worker = Worker::start(outbox(&shop, all()).build().await.unwrap());
        for name in ["night.pulse", "night.other"] {
            overdue(&shop, name, "5 minutes").await;
        }
        ages(&shop, "night.other").await;
        let status = worker.outbox.schedules().of("night.pulse").await.unwrap();
        assert_eq!((status.paused_at, status.late().is_zero()), (paused, true));
        assert!(worker.outbox.health().late.iter().all(|late| late.schedule != "night.pulse"));
        worker.stop().await;
    }
    assert_eq!(jobs(&shop, "night.pulse").await, 0);
    built.schedules().resume("night.pulse").await.unwrap();
    let status = built.schedules().of("night.pulse").await.unwrap();
    assert!(status.paused_at.is_none() && status.next_tick > Some(status.now), "{status:?}");
    built.schedules().resume("night.pulse").await.unwrap();
    // A tick behind it is taken.
    let worker = Worker::start(built);
    overdue(&shop, "night.pulse", "0 minutes").await;
    assert_eq!(ages(&shop, "night.pulse").await, ["1"]);
    worker.stop().await;
}

/// A run by hand is a job of its own: its tick says so, the schedule's ticks stay as they are, and a paused schedule can be run too. Two at
/// once there are only where overlaps are allowed.
#[tokio::test]
async fn a_run_by_hand_is_apart_from_the_ticks() {
    let shop = Shop::new().await;
    let all = || {
        [
            minutely("night.alone", CatchUp::Latest, Overlap::Skip),
            minutely("night.beside", CatchUp::Latest, Overlap::Allow),
        ]
    };
    let built = outbox(&shop, all()).build().await.unwrap();
    let schedules = built.schedules();
    let before = texts(&shop.sandbox, "select next_tick::text from :schema.schedule order by name").await;
    schedules.pause("night.alone").await.unwrap();
    let job = schedules.run_now("night.alone").await.unwrap();
    assert!(
        matches!(schedules.run_now("night.alone").await, Err(OperationError::StillRunning(name)) if name == "night.alone")
    );
    for _ in 0..2 {
        schedules.run_now("night.beside").await.unwrap();
    }
    let row = shop.sandbox.jobs().await.of("night.alone").only().clone();
    assert_eq!((row.id, row.event_id, row.max_attempts), (job, None, 8));
    let payload = text(&shop.sandbox, "select payload::text from :schema.job where job_type = 'night.alone'").await;
    assert!(payload.contains(r#""by_hand": true"#) && payload.contains(r#""zone": "UTC""#), "{payload}");
    assert_eq!(built.drain().await.unwrap().executions, 3);
    schedules.run_now("night.alone").await.unwrap();
    let after = texts(&shop.sandbox, "select next_tick::text from :schema.schedule order by name").await;
    assert_eq!((after, schedules.of("night.alone").await.unwrap().last_tick), (before, None));
}

/// A schedule that nobody has declared is told from one that is.
#[tokio::test]
async fn an_unknown_schedule_is_an_error() {
    let shop = Shop::new().await;
    let built = outbox(&shop, [minutely("night.pulse", CatchUp::Latest, Overlap::Skip)]).build().await.unwrap();
    let schedules = built.schedules();
    for refused in [
        schedules.run_now("night.puls").await.map(drop),
        schedules.pause("night.puls").await,
        schedules.resume("night.puls").await,
        schedules.of("night.puls").await.map(drop),
    ] {
        assert!(matches!(refused, Err(OperationError::UnknownSchedule(name)) if name == "night.puls"));
    }
}

/// A run by hand wakes a worker at once.
#[tokio::test]
async fn a_run_by_hand_is_run_by_a_worker() {
    let shop = Shop::new().await;
    let worker =
        Worker::start(outbox(&shop, [minutely("night.alone", CatchUp::Latest, Overlap::Skip)]).build().await.unwrap());
    worker.outbox.schedules().run_now("night.alone").await.unwrap();
    eventually("it was run", async || (shop.script.count("night.alone") == 1).then_some(())).await;
    worker.stop().await;
}
