//! Rows of the projection are damaged by hand, while facts are on their way.

use anyhow::{Context as _, bail};

use crate::facts::Drift;
use crate::stage::Stage;
use crate::tables::{number, texts};

/// How long a difference has to stand, in milliseconds: longer than a fact is on its way here.
const SETTLE: &str = "2500";
const CAME: &str = "select count(*) from system.event where event_type like 'policy.%'";

/// One row goes, one is changed, one is made up. The reconciliation finds all three, and mends them.
pub(crate) async fn drift(stage: &mut Stage) -> anyhow::Result<Drift> {
    damage(stage).await?;
    stage.narrator.tell("three rows of the projection are damaged: one is gone, one is wrong, one is of no policy");
    let asked = ["reconcile", "--policy", &stage.address(), "--settle", SETTLE];
    let before = number(&stage.billing.pool, CAME).await?;
    let answer = stage.ask_billing(&asked).await?;
    let came_meanwhile = number(&stage.billing.pool, CAME).await? - before;
    let count = |name: &str| answer[name].as_i64().with_context(|| format!("`{name}` of {answer}"));
    let found = Drift {
        compared: count("compared")?,
        missing: count("missing")?,
        divergent: count("divergent")?,
        orphaned: count("orphaned")?,
        repaired: count("repaired")?,
        came_meanwhile,
        in_flight: count("in_flight")?,
    };
    stage.narrator.tell(&format!(
        "reconciled: {} compared, {} missing, {} divergent, {} orphaned, {} mended, while {came_meanwhile} facts came",
        found.compared, found.missing, found.divergent, found.orphaned, found.repaired
    ));
    Ok(found)
}

/// Of policies that have ended, so that no fact comes and mends them.
async fn damage(stage: &mut Stage) -> anyhow::Result<()> {
    let ended = "select id from billing.policies where status = 'cancelled' order by id limit 2";
    stage
        .until("two policies have ended", async |stage| Ok(texts(&stage.billing.pool, ended).await?.len() == 2))
        .await?;
    let pool = &stage.billing.pool;
    let [gone, wrong] = texts(pool, ended).await?.try_into().unwrap_or_default();
    let statements = [
        ("delete from billing.policies where id = $1", gone.as_str()),
        ("update billing.policies set premium_cents = premium_cents + 1 where id = $1", wrong.as_str()),
        ("insert into billing.policies values ($1, 'nobody', 1, 'EUR', 'active', 1)", "P-OF-NOBODY"),
    ];
    for (statement, id) in statements {
        if sqlx::query(statement).bind(id).execute(pool).await?.rows_affected() != 1 {
            bail!("`{id}` could not be damaged");
        }
    }
    Ok(())
}
