//! The play: set the stage, start the fleet, let things happen, wait, prove.

use std::collections::BTreeSet;
use std::sync::Arc;

use platform::Release;

use crate::acts;
use crate::arguments::Arguments;
use crate::facts::Facts;
use crate::load::Load;
use crate::narrator::Narrator;
use crate::proof::Proof;
use crate::report::Report;
use crate::stage::Stage;
use crate::tables::{events, live_jobs};

/// Plays it all.
pub(crate) async fn run(
    arguments: Arguments,
    narrator: Arc<Narrator>,
    policy: String,
    billing: String,
) -> anyhow::Result<Report> {
    let kind = arguments.broker.name();
    let mut stage = Stage::set(arguments, narrator, policy, billing).await?;
    stage.narrator.tell(&format!("{kind} stands between the services"));
    // Billing first: a subscriber receives what comes from its declaration on.
    stage.start_billing(Release::First).await?;
    stage.start_policy(Release::First).await?;
    stage.narrator.tell("policy and billing run in their first release; commands are given from now on");
    let facts = acts_of(&mut stage).await?;
    settled(&mut stage).await?;
    let proof = Proof::of(&stage, &facts).await?;
    let seconds = stage.narrator.seconds();
    stage.stop_policy().await?;
    stage.stop_billing().await?;
    stage.broker.stop().await;
    Ok(Report { broker: kind, seconds, facts, proof })
}

async fn acts_of(stage: &mut Stage) -> anyhow::Result<Facts> {
    let load = Load::start(&stage.address(), stage.arguments.rate);
    let versions = acts::versions(stage, &load).await?;
    let outage = acts::outage(stage).await?;
    let kills = acts::kills(stage).await?;
    let trace = acts::trace(stage, &load).await?;
    let quarantine = acts::quarantine(stage, &load).await?;
    let drift = acts::drift(stage).await?;
    let replay = acts::replay(stage).await?;
    let answered = load.stop().await?;
    stage.narrator.tell("no more commands are given; what is under way arrives");
    Ok(Facts { answered, versions, outage, kills, quarantine, drift, replay, trace })
}

/// Waits until nothing is under way any more: no job on either side, and everything that one has told is known to the other.
///
/// The two databases cannot be looked at in one moment, and a fact can go from one to the other between two looks. So what each knows is
/// looked at before the jobs and behind them: a job that is not seen has run by then, and one that ran between would have told a fact more.
async fn settled(stage: &mut Stage) -> anyhow::Result<()> {
    stage
        .until("everything has arrived", async |stage| {
            let before = told(stage).await?;
            let is_idle = live_jobs(&stage.policy.pool).await? + live_jobs(&stage.billing.pool).await? == 0;
            let [by_policy, by_billing] = &before;
            Ok(is_idle && by_policy == by_billing && told(stage).await? == before)
        })
        .await
}

/// The facts that policy knows, and those that billing does.
async fn told(stage: &Stage) -> anyhow::Result<[BTreeSet<String>; 2]> {
    Ok([events(&stage.policy.pool, "%").await?, events(&stage.billing.pool, "%").await?])
}
