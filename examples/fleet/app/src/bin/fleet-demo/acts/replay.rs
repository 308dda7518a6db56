//! Facts are sent once more, and handled once more.

use anyhow::Context as _;
use serde_json::Value;

use crate::facts::Replay;
use crate::stage::Stage;
use crate::tables::number;

/// How many.
const LAST: &str = "20";

/// By both ways: the relay sends facts again, under their own ids, and a handler is to take events again. Nothing comes of either.
pub(crate) async fn replay(stage: &mut Stage) -> anyhow::Result<Replay> {
    let resent_before = sent(stage).await?;
    let doubles_before = doubles(stage).await?;
    let resent = count(&stage.ask_policy(&["resend", "--last", LAST]).await?, "enqueued")?;
    let replayed = stage.ask_billing(&["replay", "--handler", "billing.charge", "--last", LAST]).await?;
    let done_before = count(&replayed, "done_before")?;
    stage.until("they were sent again", async |stage| Ok(sent(stage).await? >= resent_before + resent)).await?;
    stage.go_on().await?;
    let second_effects = doubles(stage).await? - doubles_before + count(&replayed, "enqueued")?;
    stage.narrator.tell(&format!(
        "{resent} facts were sent again under their own ids, and {done_before} charges replayed: nothing came of it"
    ));
    Ok(Replay { resent, done_before, second_effects })
}

/// Events that the relay has sent more than once.
async fn sent(stage: &Stage) -> anyhow::Result<i64> {
    let twice = "select count(*) from (select from system.job_succeeded where job_type = 'policy.relay'
                 group by event_id having count(*) > 1) as twice";
    number(&stage.policy.pool, twice).await
}

/// Charges and notes that are there twice.
async fn doubles(stage: &Stage) -> anyhow::Result<i64> {
    let charges = "select count(*) - count(distinct policy_id) from billing.ledger";
    let notes = "select count(*) - count(distinct policy_id) from policy.invoices";
    Ok(number(&stage.billing.pool, charges).await? + number(&stage.policy.pool, notes).await?)
}

fn count(answer: &Value, name: &str) -> anyhow::Result<i64> {
    answer[name].as_i64().with_context(|| format!("`{name}` of {answer}"))
}
