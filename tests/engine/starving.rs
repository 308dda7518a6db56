//! Jobs that no living worker can run: told of by every worker, whatever it runs itself.

use std::time::Duration;

use outbox_testing::{Logs, eventually};

use crate::floor::{Floor, ask};

/// S2-12: jobs of a version that no binary knows, and of a handler that is not deployed, do not starve in silence: health names both, with their number and for how
/// long, one line each says it and what to do, and readiness stays. What a living worker runs, and what is not due for long, is not among them.
#[tokio::test]
async fn health_names_the_versions_and_handlers_that_starve() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note", "desk.copy"]).build().await.unwrap();
    for label in ["a", "b", "c"] {
        ask(&outbox, label, []).await;
    }
    let minutes = "update :schema.job_live set available_at = now() - interval '5 minutes'";
    floor.sandbox.execute(minutes).await;
    floor
        .sandbox
        .execute(
            "update :schema.job_live set payload_version = 2 where job_type = 'desk.note' and id in (
                             select id from :schema.job_live where job_type = 'desk.note' limit 2)",
        )
        .await;
    let logs = Logs::warnings();
    let worker = floor.worker(&["desk.note", "shelf.fill"]).await;
    let health =
        eventually("it is counted", async || Some(worker.outbox.health()).filter(|health| !health.starving.is_empty()))
            .await;
    let starving: Vec<_> = health.starving.iter().map(|one| (one.handler.as_str(), one.version, one.due)).collect();
    assert_eq!(starving, [("desk.copy", 1, 3), ("desk.note", 2, 2)]);
    assert!(health.starving.iter().all(|one| one.lasting >= Duration::from_mins(5)), "{health}");
    assert!(
        health
            .to_string()
            .contains("; no living worker runs 2 due jobs of `desk.note` in version 2, the oldest for 30"),
        "{health}"
    );
    eventually("it is ready all the same", async || worker.outbox.health().is_ready().then_some(())).await;
    let told = logs.lines();
    let told: Vec<_> = told.iter().filter(|line| line.starts_with("WARN no living worker runs")).collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(
        told[0].contains("3 due jobs of `desk.copy` in version 1") && told[0].contains("deploy a binary"),
        "{told:#?}"
    );
    worker.stop().await;
}
