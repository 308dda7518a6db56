//! Every process that publishes runs it, and only for the events that it takes.

use outbox::{BuildError, Fault, Outbox, PublishError, Registry};

use super::{Audit, Audited, of};
use crate::linkage::{linking, on, only_events};
use crate::sql::texts;
use crate::support::OrderPlaced;
use crate::wire::Wire;

/// `when` declines without a word.
#[tokio::test]
async fn what_it_declines_is_published_without_it() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &of("nothing")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((audited.events().await, audited.shop.effects().await), (1, 0));
}

/// S1-2: the catalogue knows it, so that a binary that does not link it cannot publish without it. Retired, it is run by nobody, also
/// where it is linked; activated, by everybody again.
#[tokio::test]
async fn the_catalogue_has_every_publisher_run_it() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep"]).await;
    let other = audited.shop.bare(linking([on("search.index", "wish.uttered")])).build().await.unwrap();
    let kind = "select kind || ' ' || source from :schema.subscription where handler = 'audit.keep'";
    assert_eq!(texts(&audited.shop.sandbox, kind).await, ["in_transaction *"]);
    let publish = async |outbox: &Outbox, key: &str| {
        let mut tx = outbox.begin().await.unwrap();
        let published = outbox.publish(&mut tx, &of("a")).key(key).await;
        let unkeyed = published.is_ok().then_some(outbox.publish(&mut tx, &of("b")).await);
        tx.commit().await.unwrap();
        (published.map(|one| one.jobs), unkeyed.map(|one| one.map(|one| one.jobs).unwrap()))
    };
    assert!(matches!(publish(&other, "1").await.0, Err(PublishError::Unlinked { .. })));
    assert!(matches!(publish(&outbox, "1").await, (Ok(1), Some(1))));
    assert_eq!(audited.audited().await, 2);
    outbox.retire("audit.keep").await.unwrap();
    assert!(matches!(publish(&other, "2").await, (Ok(1), Some(1))));
    assert!(matches!(publish(&outbox, "3").await, (Ok(1), Some(1))));
    assert_eq!(audited.audited().await, 2);
    outbox.activate("audit.keep").await.unwrap();
    assert!(matches!(publish(&outbox, "4").await, (Ok(1), Some(1))));
    assert_eq!(audited.audited().await, 4);
}

/// It runs wherever something is published: its state is asked for, whatever modules the process runs; and no worker claims for it.
#[tokio::test]
async fn its_state_is_asked_for_in_every_process() {
    let audited = Audited::new().await;
    let linked = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Registry::linked().with_subscribers(move |one| names.iter().any(|name| name == one.name))
    };
    let registry = linked(&["audit.keep", "notifications.confirm"]);
    let refused = audited.shop.bare(registry.clone()).modules(["notifications"]).build().await.unwrap_err();
    let BuildError::Wiring(faults) = refused else { panic!("{refused}") };
    assert!(matches!(faults[..], [Fault::MissingState { subscriber: "audit.keep", .. }]), "{faults:?}");
    let state = Audit(audited.shop.sandbox.table("audit_log"));
    let outbox = audited.shop.bare(registry).modules(["notifications"]).state(state).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    assert_eq!(outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap().jobs, 1);
    tx.commit().await.unwrap();
    assert_eq!(outbox.drain().await.unwrap().executions, 1);
    assert_eq!(audited.audited().await, 1);
    assert!(outbox.registry().to_string().contains("audit.keep (in the transaction),"), "{}", outbox.registry());
}

/// What it costs is paid by the events that have one: five statements beside its own. A publish without is one round trip, as ever.
#[tokio::test]
async fn a_publish_without_one_is_one_round_trip() {
    let audited = Audited::new().await;
    let wire = Wire::default();
    let pool = wire.pool(&audited.shop.sandbox).await;
    for (registry, count) in
        [(only_events(), 1), (Registry::linked().with_subscribers(|one| one.name == "audit.keep"), 6)]
    {
        let state = Audit(audited.shop.sandbox.table("audit_log"));
        let builder = audited.shop.sandbox.outbox_on(pool.clone()).registry(registry).state(state);
        let outbox = builder.poll_only().build().await.unwrap();
        let mut tx = outbox.begin().await.unwrap();
        for _ in 0..2 {
            outbox.publish(&mut tx, &of("prepares the statements")).await.unwrap();
        }
        wire.take();
        outbox.publish(&mut tx, &of("a")).await.unwrap();
        let sent = wire.take();
        assert_eq!((sent.statements(), sent.round_trips()), (count, count), "{sent:?}");
        tx.rollback().await.unwrap();
    }
}
