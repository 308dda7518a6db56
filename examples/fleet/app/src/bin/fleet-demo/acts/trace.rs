//! One command is followed through both services and back.

use anyhow::{Context as _, bail};
use contracts::Money;
use platform::trace::Parent;
use serde_json::json;

use crate::load::Load;
use crate::stage::Stage;
use crate::tree::Tree;

/// What a sale sets in motion, in the order of its way.
pub(crate) const STEPS: [(&str, &str); 9] = [
    ("policy", "request /policies"),
    ("policy", "publish policy.created.v2"),
    ("policy", "relay fleet.policy.created.v1"),
    ("billing", "ingest policy.created"),
    ("billing", "execution billing.project_created"),
    ("billing", "execution billing.charge"),
    ("billing", "publish invoice.issued.v1"),
    ("billing", "relay fleet.invoice.issued.v1"),
    ("policy", "execution policy.note_invoice"),
];

/// Sells one policy under a trace of its own, and waits until its invoice has come back.
pub(crate) async fn trace(stage: &mut Stage, load: &Load) -> anyhow::Result<Tree> {
    let (parent, files) = (Parent::root(), stage.spans());
    let (policy_id, premium) = ("P-TRACED".to_owned(), Money::euros(12_000));
    let sale = json!({ "policy_id": policy_id, "holder": "holder of P-TRACED", "premium": premium });
    let request = reqwest::Client::new().post(format!("{}/policies", stage.address())).json(&sale);
    let request = request.bearer_auth("token-of-ann").header("traceparent", parent.to_string());
    let answer = request.send().await.context("the sale that is traced")?;
    if !answer.status().is_success() {
        bail!("the sale that is traced was answered with {}", answer.status());
    }
    load.shared.sold(policy_id, premium);
    stage
        .until("the trace is whole", async |_| {
            let tree = Tree::read(&files, parent.trace)?;
            Ok(STEPS.iter().all(|(service, what)| tree.has(service, what)))
        })
        .await?;
    Tree::read(&files, parent.trace)
}
