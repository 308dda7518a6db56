//! The shape of a fact changes while both services run.

use std::collections::BTreeSet;

use platform::Release;

use crate::facts::Versions;
use crate::load::Load;
use crate::stage::Stage;
use crate::tables::{number, texts};

/// Facts that billing was told as version 1 with version 2 inside.
const TOLD_AS_BOTH: &str =
    "select count(*) from system.event where event_type = 'policy.created' and payload ? 'policy.created.v2'";
/// Charges that version 1 could not have said.
const IN_FRANCS: &str = "select count(*) from billing.ledger where currency = 'CHF'";

/// The producer first, publishing both versions; then the consumer; then what only the later version can say. At each step everything
/// that was sold is charged.
pub(crate) async fn versions(stage: &mut Stage, load: &Load) -> anyhow::Result<Versions> {
    let mut found = Versions::default();
    stage.go_on().await?;
    found.told_as_the_first = load.sold();
    all_charged(stage).await?;

    stage.stop_policy().await?;
    stage.start_policy(Release::Second).await?;
    stage.narrator.tell("policy is version 2 now, and publishes both; billing still reads version 1");
    stage.until("both versions come", async |stage| Ok(number(&stage.billing.pool, TOLD_AS_BOTH).await? > 10)).await?;
    stage.go_on().await?;
    all_charged(stage).await?;
    found.read_as_the_first = number(&stage.billing.pool, TOLD_AS_BOTH).await?;

    stage.stop_billing().await?;
    stage.start_billing(Release::Second).await?;
    load.sell_in_francs();
    stage.narrator.tell("billing reads version 2 now; policies are sold in francs too, which version 1 could not say");
    stage.until("francs are charged", async |stage| Ok(number(&stage.billing.pool, IN_FRANCS).await? > 10)).await?;
    stage.go_on().await?;
    all_charged(stage).await?;
    found.charged_in_francs = number(&stage.billing.pool, IN_FRANCS).await?;
    Ok(found)
}

/// Waits until everything that was sold by now is charged: nobody starves.
async fn all_charged(stage: &mut Stage) -> anyhow::Result<()> {
    let sold = texts(&stage.policy.pool, "select id from policy.policies").await?;
    stage
        .until("everything that was sold is charged", async |stage| {
            let charged = texts(&stage.billing.pool, "select policy_id from billing.ledger").await?;
            let charged: BTreeSet<_> = charged.into_iter().collect();
            Ok(sold.iter().all(|policy_id| charged.contains(policy_id)))
        })
        .await
}
