//! recover: jobs that stand as held by a worker that knows nothing of them.

use std::time::Duration;

use crate::floor::{Floor, Worker, ask_many, living_workers};
use crate::proxy::Proxy;

/// The server commits a claim and its answer is lost: the worker gives the jobs back, uncharged, and runs them, under the
/// same id and long before its lease of a minute would end.
#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_given_back() {
    let floor = Floor::new().await;
    let proxy = Proxy::start().await;
    let outbox = floor.outbox_on(proxy.pool(), &["desk.note"]).lease(Duration::from_mins(1)).build().await.unwrap();
    ask_many(&outbox, 5, []).await;
    proxy.lose_answers("-- claim:", 1);
    let worker = Worker::start(outbox);
    floor.until_number("select count(*) from :schema.job where status = 'running'", 5).await;
    assert_eq!(proxy.left_to_lose("-- claim:"), 0, "the answer was lost");
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
    let proxy = Proxy::start().await;
    let outbox = floor.outbox_on(proxy.pool(), &["desk.note"]).lease(Duration::from_mins(1)).build().await.unwrap();
    ask_many(&outbox, 2, []).await;
    floor
        .sandbox
        .execute(
            "update :schema.job_live set status = 'running', claim_id = gen_random_uuid(), locked_by = gen_random_uuid(), attempts = 1
             where id = (select id from :schema.job_live order by id limit 1)",
        )
        .await;
    // A look is due once an answer to a claim was lost; otherwise once a minute.
    proxy.lose_answers("-- claim:", 1);
    let worker = Worker::start(outbox);
    let jobs = floor.until_settled().await;
    assert_eq!(jobs.succeeded(), 2, "{jobs:#?}");
    assert_eq!(jobs.0.iter().map(|job| job.crashes).max(), Some(1), "the one that nobody held is counted as crashed");
    worker.stop().await;
}
