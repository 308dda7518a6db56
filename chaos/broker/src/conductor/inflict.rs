//! Makes the faults of a plan happen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Run, said};
use crate::conductor::fleet::Place;
use crate::plan::Kind;

/// What was inflicted, by kind: how many were planned, and how many happened.
pub(crate) type Inflicted = BTreeMap<&'static str, (u64, u64)>;

/// Carries out the whole plan, from `began` on. Returns when its length is over, and its last fault.
pub(super) async fn all(run: &Arc<Run>, began: Instant) -> Inflicted {
    let mut faults = JoinSet::new();
    for fault in run.plan.faults.clone() {
        let run = Arc::clone(run);
        faults.spawn(async move {
            sleep_until(began + fault.at).await;
            (fault.kind.name(), one(&run, fault.kind).await)
        });
    }
    let mut inflicted = Inflicted::new();
    while let Some(ended) = faults.join_next().await {
        let Ok((name, happened)) = ended else { continue };
        if let Err(error) = &happened {
            said(&format!("a fault did not happen: {name}: {error:#}"));
        }
        let counts = inflicted.entry(name).or_default();
        counts.0 += 1;
        counts.1 += u64::from(happened.is_ok_and(|happened| happened));
    }
    sleep_until(began + run.plan.length).await;
    inflicted
}

/// Answers whether it happened: nobody may be there whom it could meet.
async fn one(run: &Run, kind: Kind) -> anyhow::Result<bool> {
    match kind {
        Kind::BrokerStops { lasts } => run.broker.stops(lasts).await,
        Kind::BrokerDies { lasts } => run.broker.dies(lasts).await,
        Kind::BrokerFreezes { lasts } => run.broker.freezes(lasts).await,
        Kind::Network { service, what, lasts } => run.broker.disturb(service, what, lasts).await,
        Kind::Kill { place } => return kill(run.fleet.place(place)?).await,
        Kind::Freeze { place, lasts } => return freeze(run.fleet.place(place)?, lasts).await,
        Kind::Terminate { place } => {
            let place = run.fleet.place(place)?;
            let _turn = place.turn.lock().await;
            return Ok(place.present().is_some_and(|process| process.terminate().is_ok()));
        }
        Kind::Database { place, lasts } => {
            let network = run.fleet.place(place)?.proxy.all();
            network.black_hole();
            sleep(lasts).await;
            network.clear();
            network.cut();
        }
        Kind::ServerDies => run.databases.dies().await?,
    }
    Ok(true)
}

async fn kill(place: &Place) -> anyhow::Result<bool> {
    let _turn = place.turn.lock().await;
    let Some(process) = place.present() else { return Ok(false) };
    Ok(tokio::task::spawn_blocking(move || process.kill()).await?.is_ok())
}

async fn freeze(place: &Place, lasts: Duration) -> anyhow::Result<bool> {
    let _turn = place.turn.lock().await;
    let Some(process) = place.present() else { return Ok(false) };
    let frozen = Arc::clone(&process);
    if tokio::task::spawn_blocking(move || frozen.freeze()).await?.is_err() {
        return Ok(false);
    }
    sleep(lasts).await;
    // It may have been killed meanwhile.
    Ok(process.thaw().is_ok())
}
