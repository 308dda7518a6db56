//! An event that is published as an earlier version too: consumers of either work on one and the same event.

use outbox::Fault;
use outbox::prelude::*;
use outbox_testing::published;

use super::{Money, binary, publish};
use crate::sql::text;
use crate::support::{Script, Shop};

/// A claim, as it began.
#[event("claim.filed")]
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFiledV1 {
    #[subject]
    claim: i64,
    cents: i64,
}

/// A claim has a currency; while consumers of version 1 are about it is published for them too.
#[event("claim.filed", version = 2, upcast_from = ClaimFiledV1, also_as = ClaimFiledV1)]
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFiled {
    #[subject]
    claim: i64,
    amount: Money,
}

impl From<ClaimFiledV1> for ClaimFiled {
    fn from(old: ClaimFiledV1) -> Self {
        Self { claim: old.claim, amount: Money { cents: old.cents, currency: "EUR".into() } }
    }
}

impl From<&ClaimFiled> for ClaimFiledV1 {
    fn from(new: &ClaimFiled) -> Self {
        Self { claim: new.claim, cents: new.amount.cents }
    }
}

fn claim(claim: i64, currency: &str) -> ClaimFiled {
    ClaimFiled { claim, amount: Money { cents: 100 * claim, currency: currency.into() } }
}

#[subscriber(event = "claim.filed", name = "claims.of_old", idempotent = "only notes")]
async fn claims_of_old(claim: ClaimFiledV1, State(script): State<Script>) -> HandlerResult {
    script.note(format!("old {} {}", claim.claim, claim.cents));
    Ok(())
}

#[subscriber(event = "claim.filed", name = "claims.of_new", idempotent = "only notes")]
async fn claims_of_new(claim: ClaimFiled, State(script): State<Script>) -> HandlerResult {
    script.note(format!("new {} {} {}", claim.claim, claim.amount.cents, claim.amount.currency));
    Ok(())
}

#[subscriber(event = "claim.filed", name = "claims.in_old", in_transaction)]
async fn claims_in_old(claim: ClaimFiledV1, State(script): State<Script>) -> HandlerResult {
    script.note(format!("in old {} {}", claim.claim, claim.cents));
    Ok(())
}

#[subscriber(event = "claim.filed", name = "claims.in_new", in_transaction)]
async fn claims_in_new(claim: ClaimFiled, State(script): State<Script>) -> HandlerResult {
    script.note(format!("in new {} {}", claim.claim, claim.amount.currency));
    Ok(())
}

/// Named by text: takes the envelope of version 2 and no other.
#[subscriber(event = "claim.filed", version = 2, name = "claims.by_text", idempotent = "does nothing")]
async fn claims_by_text(_: Envelope) -> HandlerResult {
    Ok(())
}

/// S2-12: while the producer says `also_as`, consumers of either version work on one and the same event: who knows the earlier version
/// reads that, who knows the later reads all of it, nothing is upcast from less, and nobody has to be told who knows what.
#[tokio::test]
async fn an_event_published_as_both_versions_starves_nobody() {
    let shop = Shop::new().await;
    let handlers = ["claims.of_old", "claims.of_new", "claims.in_old", "claims.in_new"];
    let outbox = binary(&shop, &handlers.map(|name| (name, name))).build().await.unwrap();
    let event = publish(&outbox, &claim(1, "CHF")).await;
    publish(&outbox, &ClaimFiledV1 { claim: 2, cents: 5 }).await;
    outbox.drain().await.unwrap();
    let mut notes = shop.script.notes();
    notes.sort();
    let expected = [
        "in new 1 CHF",
        "in new 2 EUR",
        "in old 1 100",
        "in old 2 5",
        "new 1 100 CHF",
        "new 2 5 EUR",
        "old 1 100",
        "old 2 5",
    ];
    assert_eq!(notes, expected);
    let stored =
        format!("select event_type || '.v' || event_version from :schema.event where id = '{}'", event.as_uuid());
    assert_eq!(text(&shop.sandbox, &stored).await, "claim.filed.v1");
    assert_eq!(outbox.unclaimed().await.unwrap(), []);
    let mut tx = outbox.begin().await.unwrap();
    assert_eq!(published::<ClaimFiled>(&mut tx, shop.sandbox.schema()).await[0], claim(1, "CHF"));
    assert_eq!(published::<ClaimFiledV1>(&mut tx, shop.sandbox.schema()).await.len(), 2);
    tx.rollback().await.unwrap();
}

/// S2-12: the same handler in an old and a new binary: either runs what a publisher of the new version writes, in a roll forward, and
/// in the roll back behind it.
#[tokio::test]
async fn a_roll_forward_and_back_loses_and_holds_up_nothing() {
    let shop = Shop::new().await;
    let old = binary(&shop, &[("claims.of_old", "claims.project")]).build().await.unwrap();
    let new = binary(&shop, &[("claims.of_new", "claims.project")]).build().await.unwrap();
    publish(&new, &claim(1, "CHF")).await;
    assert_eq!(old.drain().await.unwrap().executions, 1);
    publish(&new, &claim(2, "CHF")).await;
    assert_eq!(new.drain().await.unwrap().executions, 1);
    publish(&new, &claim(3, "CHF")).await;
    assert_eq!(old.drain().await.unwrap().executions, 1);
    assert_eq!(shop.script.notes(), ["old 1 100", "new 2 200 CHF", "old 3 300"]);
}

/// S2-12: a subscriber that would wait for a version that nobody stores yet is refused at the start.
#[tokio::test]
async fn who_takes_the_later_version_by_text_is_told_that_it_is_not_stored() {
    let shop = Shop::new().await;
    let error = binary(&shop, &[("claims.by_text", "claims.by_text")]).build().await.unwrap_err();
    let outbox::BuildError::Wiring(faults) = error else { panic!("{error}") };
    let [Fault::StoredAsAnother { subscriber, event, version, stored, .. }] = faults.as_slice() else {
        panic!("{faults:?}")
    };
    assert_eq!((*subscriber, *event, *version, *stored), ("claims.by_text", "claim.filed", 2, 1));
}
