//! Both services are killed in the middle.

use std::time::Duration;

use platform::Release;

use crate::facts::Kills;
use crate::stage::Stage;

/// How long a service is away.
const AWAY: Duration = Duration::from_secs(1);

/// `SIGKILL`, one after the other. What they held is run by those who come behind them.
pub(crate) async fn kills(stage: &mut Stage) -> anyhow::Result<Kills> {
    let billing_held = stage.kill_billing().await?;
    stage.narrator.tell(&format!("billing is killed, with {billing_held} jobs in hand"));
    tokio::time::sleep(AWAY).await;
    stage.start_billing(Release::Second).await?;
    stage.go_on().await?;

    let policy_held = stage.kill_policy().await?;
    stage.narrator.tell(&format!("policy is killed, with {policy_held} jobs in hand; its clients ask again"));
    tokio::time::sleep(AWAY).await;
    stage.start_policy(Release::Second).await?;
    stage.go_on().await?;
    Ok(Kills { billing_held, policy_held })
}
