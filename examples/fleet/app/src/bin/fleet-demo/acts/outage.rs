//! The broker is away for longer than all that its relays would wait.

use std::time::{Duration, Instant};

use crate::facts::Outage;
use crate::stage::Stage;
use crate::tables::{events, number};

/// Facts that wait for the broker.
const WAITING: &str = "select count(*) from system.job_live where job_type = 'policy.relay'";

/// Stopped under load, and started again.
pub(crate) async fn outage(stage: &mut Stage) -> anyhow::Result<Outage> {
    let mut found = Outage::default();
    let began = Instant::now();
    stage.broker.stop().await;
    stage.narrator.tell("the broker is stopped; commands are taken as before");
    tokio::time::sleep(stage.arguments.outage()).await;
    found.waiting = number(&stage.policy.pool, WAITING).await?;
    // What is claimed just now has its attempt counted, and gets it back with the job.
    let charged = "select count(*) from system.job_live
                   where job_type = 'policy.relay' and status = 'pending' and attempts > 0";
    found.charged = number(&stage.policy.pool, charged).await?;
    let waited = events(&stage.policy.pool, "policy.%").await?;
    stage.narrator.tell("the broker is started again");
    stage.narrator.clone().while_waiting("until the broker listens again", stage.broker.start_again()).await;
    found.seconds = began.elapsed().as_secs_f64();
    stage.narrator.tell(&format!("the broker is back; {} facts wait for it", found.waiting));
    let back = Instant::now();
    stage
        .until("all that waited has arrived", async |stage| {
            Ok(events(&stage.billing.pool, "policy.%").await?.is_superset(&waited))
        })
        .await?;
    found.caught_up_seconds = back.elapsed().as_secs_f64();
    stage
        .until("the relay is done with what waited", async |stage| {
            // Confirmed a moment later than it arrives.
            let open = format!("{WAITING} and created_at < clock_timestamp() - make_interval(secs => {})", secs(back));
            Ok(number(&stage.policy.pool, &open).await? == 0)
        })
        .await?;
    // A process that lost its lease, on a machine that is too busy, is no fault of the broker's.
    let most =
        "select coalesce(max(attempts - crashes), 0)::bigint from system.job_succeeded where job_type = 'policy.relay'";
    found.most_attempts = number(&stage.policy.pool, most).await?;
    stage.go_on().await?;
    Ok(found)
}

fn secs(since: Instant) -> f64 {
    (since.elapsed() + Duration::from_millis(1)).as_secs_f64()
}
