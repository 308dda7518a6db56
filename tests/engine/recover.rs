//! recover: jobs that stand as held by a worker that knows nothing of them.

use std::time::Duration;

use outbox_testing::eventually;

use crate::floor::{Do, Floor, Worker, ask, ask_many, living_workers};
use crate::proxy;

/// The server commits a claim and its answer is lost: the worker gives the jobs back, uncharged, and runs them, under the
/// same id and long before its lease of a minute would end.
#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_given_back() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox =
        floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).lease(Duration::from_mins(1)).build().await.unwrap();
    ask_many(&outbox, 5, []).await;
    let lost = proxy.cut_at(proxy::committed("claim"));
    let worker = Worker::start(outbox);
    floor.until_number("select count(*) from :schema.job where status = 'running'", 5).await;
    lost.until_reached().await;
    assert_eq!(floor.stage.noted("began ").len(), 0, "nobody runs what stands as running");
    let before = living_workers(&floor).await;
    let jobs = floor.until_settled().await;
    assert!(jobs.0.iter().all(|job| job.status == "succeeded" && job.attempts == 1 && job.crashes == 0), "{jobs:#?}");
    assert_eq!(living_workers(&floor).await, before);
    assert_eq!(floor.stage.noted("began ").len(), 5);
    worker.stop().await;
}

/// Q19: somebody deletes a worker's row, and its lease with it: what it held is found by the job itself, and run elsewhere.
#[tokio::test]
async fn what_a_deleted_row_held_is_taken_over() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox =
        floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).lease(Duration::from_mins(1)).build().await.unwrap();
    ask_many(&outbox, 2, []).await;
    floor
        .sandbox
        .execute(
            "update :schema.job_live set status = 'running', claim_id = gen_random_uuid(), locked_by = gen_random_uuid(), attempts = 1
             where id = (select id from :schema.job_live order by id limit 1)",
        )
        .await;
    // A look is due once an answer to a claim was lost; otherwise once a minute.
    let _lost = proxy.cut_at(proxy::committed("claim"));
    let worker = Worker::start(outbox);
    let jobs = floor.until_settled().await;
    assert_eq!(jobs.succeeded(), 2, "{jobs:#?}");
    assert_eq!(jobs.0.iter().map(|job| job.crashes).max(), Some(1), "the one that nobody held is counted as crashed");
    worker.stop().await;
}

/// An outcome is sent again, because its answer was lost, when its job is claimed anew and runs already: the job stays known
/// under its new claim, so that a look for lost jobs gives it to nobody else while it runs.
#[tokio::test]
async fn a_job_that_runs_anew_is_not_given_back() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox =
        floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).lease(Duration::from_mins(1)).build().await.unwrap();
    // The first takes place; those behind it change nothing, and leave time for the next claim.
    let unanswered = proxy.cut_at(proxy::committed("settle").every_time());
    let worker = Worker::start(outbox);
    let event = ask(&worker.outbox, "a", [Do::RetryAfter(0), Do::Wait("end".into())]).await;
    floor.until_begun("desk.note", "a", 2).await;
    assert!(unanswered.reached() > 0, "the outcome is still being sent");
    drop(unanswered);
    let other = ask(&worker.outbox, "b", []).await;
    floor.until("desk.note", other, "succeeded").await;
    let looks = proxy.all().count("recover");
    let _lost = proxy.cut_at(proxy::committed("claim"));
    eventually("lost jobs were looked for", async || (proxy.all().count("recover") > looks).then_some(())).await;
    let other = ask(&worker.outbox, "c", []).await;
    floor.until("desk.note", other, "succeeded").await;
    let claims = proxy.all().count("claim");
    eventually("it has claimed three times more", async || (proxy.all().count("claim") >= claims + 3).then_some(()))
        .await;
    assert_eq!(floor.job("desk.note", event).await.status, "running");
    floor.stage.open("end");
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes, floor.stage.executions("desk.note", "a")), (2, 0, 2));
    worker.stop().await;
}
