//! Messages come that billing cannot take.

use anyhow::{Context as _, bail};
use contracts::Money;
use platform::Release;
use serde_json::{Value, json};

use crate::broker::ByHand;
use crate::facts::Quarantine;
use crate::load::Load;
use crate::stage::Stage;
use crate::tables::number;

const CHARGES: &str = "select count(*) from billing.ledger";

/// One that is no JSON, one that nobody knows, and one of a version that is to come. All three lie apart, and the rest goes on; billing is
/// brought up to the version, that one is driven once more, and the others are thrown away.
pub(crate) async fn quarantine(stage: &mut Stage, load: &Load) -> anyhow::Result<Quarantine> {
    let mut found = Quarantine::default();
    too_early(stage, load).await?;
    for message in [GARBAGE, UNKNOWN] {
        stage.broker.put(&message).await?;
    }
    let lying = "select count(*) from system.quarantine";
    stage.until("three messages lie apart", async |stage| Ok(number(&stage.billing.pool, lying).await? == 3)).await?;
    let before = number(&stage.billing.pool, CHARGES).await?;
    stage
        .until("the rest goes on", async |stage| Ok(number(&stage.billing.pool, CHARGES).await? > before + 10))
        .await?;
    found.charged_meanwhile = number(&stage.billing.pool, CHARGES).await? - before;
    let rows = listed(stage).await?;
    for row in &rows {
        let (class, reason) = (text(row, "class")?, text(row, "reason")?);
        stage.narrator.tell(&format!("in quarantine, {class}: {reason}"));
        found.reasons.push(class.to_owned());
    }

    stage.stop_billing().await?;
    stage.start_billing(Release::Third).await?;
    let early = rows.iter().find(|row| row["event_version"] == 3).context("the one of version 3 is listed")?;
    let shown = stage.ask_billing(&["quarantine", "show", text(early, "id")?]).await?;
    if !text(&shown, "body")?.contains("P-EARLY") {
        bail!("the message of version 3 is not as it came: {shown}");
    }
    let redriven = stage.ask_billing(&["quarantine", "redrive", text(early, "id")?]).await?;
    if redriven["outcome"] != "stored" {
        bail!("the message of version 3 was not taken: {redriven}");
    }
    found.redriven += 1;
    for row in rows.iter().filter(|row| row["event_version"] != 3) {
        stage.ask_billing(&["quarantine", "discard", text(row, "id")?]).await?;
        found.discarded += 1;
    }
    stage.narrator.tell("billing knows version 3 now: that one was driven once more, and the others thrown away");
    stage.go_on().await?;
    Ok(found)
}

const GARBAGE: ByHand<'_> = ByHand {
    route: "fleet.policy.created.v1",
    attributes: &[
        ("specversion", "1.0"),
        ("id", "01JGARBAGE0000000000000000"),
        ("source", "/by-hand"),
        ("type", "policy.created.v1"),
        ("time", "2026-01-01T00:00:00Z"),
    ],
    body: b"<policy/>",
};
const UNKNOWN: ByHand<'_> = ByHand {
    route: "fleet.policy.lapsed.v1",
    attributes: &[
        ("specversion", "1.0"),
        ("id", "01JVNKNAWN0000000000000000"),
        ("source", "/by-hand"),
        ("type", "policy.lapsed.v1"),
        ("time", "2026-01-01T00:00:00Z"),
    ],
    body: br#"{"policy_id": "P-1"}"#,
};

/// The third release of policy is tried too early: it sells one policy for two years, and is taken back.
async fn too_early(stage: &Stage, load: &Load) -> anyhow::Result<()> {
    let (canary, address) = stage.start_canary(Release::Third).await?;
    let (policy_id, premium) = ("P-EARLY".to_owned(), Money::euros(24_000));
    let sale = json!({ "policy_id": policy_id, "holder": "holder of P-EARLY", "premium": premium, "term": 24 });
    let request = reqwest::Client::new().post(format!("{address}/policies")).json(&sale);
    let answer = request.bearer_auth("token-of-ann").send().await.context("the early sale")?;
    if !answer.status().is_success() {
        bail!("the early sale was answered with {}", answer.status());
    }
    load.shared.sold(policy_id, premium);
    canary.stop().await
}

async fn listed(stage: &Stage) -> anyhow::Result<Vec<Value>> {
    let answer = stage.ask_billing(&["quarantine", "list"]).await?;
    Ok(answer.as_array().context("a list")?.clone())
}

fn text<'a>(row: &'a Value, name: &str) -> anyhow::Result<&'a str> {
    row[name].as_str().with_context(|| format!("`{name}` of {row}"))
}
