//! A fact is its owner's to publish, and anybody's to receive.

use outbox::prelude::*;
use outbox::{BuildError, OutboxBuilder, PublishError, Published, Registry, SettingFault};
use outbox_testing::Sandbox;

use crate::floor::{Asked, Do, Floor, Worker, ask};

/// What the service `policy` says; nobody else does.
#[event("policy.issued", owner = "policy")]
struct PolicyIssued {
    #[subject]
    policy_id: i64,
}

#[subscriber(event = "policy.issued", name = "billing.open", idempotent = "does nothing")]
async fn open(_: PolicyIssued) -> HandlerResult {
    Ok(())
}

/// A handler that says what is not its own to say.
#[subscriber(event = "policy.issued", name = "billing.repeat")]
async fn repeat(issued: PolicyIssued, mut tx: Tx<'_>) -> HandlerResult {
    issued.publish(&mut tx).await?;
    Ok(())
}

fn outbox(sandbox: &Sandbox, handlers: &'static [&'static str]) -> OutboxBuilder {
    sandbox.outbox().registry(Registry::linked().with_subscribers(|one| handlers.contains(&one.name)))
}

async fn events(sandbox: &Sandbox) -> i64 {
    sandbox.number("select count(*) from :schema.event").await
}

/// S2-3: a fact is published by the service that owns it, and by no other: one that is another, or has not said which it is, is refused before
/// anything is written, told whose fact it is and what to do, and its transaction goes on.
#[tokio::test]
async fn a_fact_is_published_by_its_owner_only() {
    let sandbox = Sandbox::new().await;
    let issued = [PolicyIssued { policy_id: 1 }, PolicyIssued { policy_id: 2 }];
    let told = [
        (
            Some("billing"),
            "`policy.issued` was not published: it is the fact of the service `policy`, and this process is a part of `billing`; only its \
             owner publishes a fact, others subscribe to it",
        ),
        (
            None,
            "`policy.issued` was not published: it is the fact of the service `policy`, and this process has not said which one it is: say \
             `.service(\"policy\")` to `Outbox::builder(..)` if it is that one; only its owner publishes a fact, others subscribe to it",
        ),
    ];
    for (service, told) in told {
        let builder = outbox(&sandbox, &[]);
        let other = service.map_or(outbox(&sandbox, &[]), |service| builder.service(service)).build().await.unwrap();
        let mut tx = other.begin().await.unwrap();
        let refused = other.publish(&mut tx, &issued[0]).key("k").await.unwrap_err();
        assert!(matches!(refused, PublishError::NotTheOwner { name: "policy.issued", owner: "policy", .. }));
        assert_eq!(refused.to_string(), told);
        assert!(matches!(other.publish_all(&mut tx, &issued).await, Err(PublishError::NotTheOwner { .. })));
        let refused = other.scope(async { issued[0].publish(&mut tx).await }).await;
        assert!(matches!(refused, Err(PublishError::NotTheOwner { .. })));
        let usable: i32 = sqlx::query_scalar("select 1").fetch_one(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((usable, events(&sandbox).await), (1, 0));
    }
    let owner = outbox(&sandbox, &[]).service("policy").build().await.unwrap();
    let mut tx = owner.begin().await.unwrap();
    owner.publish_all(&mut tx, &issued).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(events(&sandbox).await, 2);
}

/// S2-3: others subscribe to it, which takes nobody's permission; what their handlers publish is judged as anything else.
#[tokio::test]
async fn anybody_may_receive_it_and_nobody_may_repeat_it() {
    let sandbox = Sandbox::new().await;
    let billing = outbox(&sandbox, &["billing.open", "billing.repeat"]).service("billing").build().await.unwrap();
    let owner = outbox(&sandbox, &[]).service("policy").build().await.unwrap();
    let mut tx = owner.begin().await.unwrap();
    assert_eq!(owner.publish(&mut tx, &PolicyIssued { policy_id: 1 }).await.unwrap().jobs, 2);
    tx.commit().await.unwrap();
    billing.drain().await.unwrap();
    let jobs = sandbox.jobs().await;
    assert_eq!(jobs.of("billing.open").only().status, "succeeded");
    let repeat = jobs.of("billing.repeat");
    assert_eq!(repeat.only().status, "pending");
    assert!(repeat.only().last_error.as_ref().unwrap().contains("it is the fact of the service `policy`"));
    assert_eq!(events(&sandbox).await, 1);
}

/// A service's name that no event could name as its owner is refused with the other settings.
#[tokio::test]
async fn a_service_has_a_name() {
    let sandbox = Sandbox::new().await;
    for odd in ["", "Policy", "policy service", "1st", "policy.eu"] {
        let refused = outbox(&sandbox, &[]).service(odd).build().await.unwrap_err();
        let BuildError::Settings(faults) = refused else { panic!("{refused}") };
        assert_eq!(faults, [SettingFault::Service(odd.to_owned())]);
    }
    assert!(outbox(&sandbox, &[]).service("policy-eu_2").build().await.is_ok());
}

/// S2-6: a fact asks nothing of its consumers: its publisher has committed and goes on while one of them still works on it, hears nothing of
/// another that fails for good, and publishes the next one all the same. A published event says its id and how many were told; that a
/// subscriber can answer no value is a compile error, in `tests/ui/subscriber/returns_a_value.rs`.
#[tokio::test]
async fn a_publisher_neither_waits_for_its_consumers_nor_hears_of_them() {
    let floor = Floor::new().await;
    let worker = Worker::start(floor.outbox(&["desk.note", "till.book"]).build().await.unwrap());
    let mut tx = worker.outbox.begin().await.unwrap();
    let asked = Asked { label: "told".into(), plan: vec![Do::Wait("slow".into())] };
    let Published { event_id, jobs, duplicate } = worker.outbox.publish(&mut tx, &asked).await.unwrap();
    assert_eq!((jobs, duplicate), (2, false));
    tx.commit().await.unwrap();
    floor.until("desk.note", event_id, "running").await;
    let refused = ask(&worker.outbox, "refused", [Do::Quarantine]).await;
    floor.until("desk.note", refused, "failed").await;
    let next = ask(&worker.outbox, "next", []).await;
    floor.until("till.book", next, "succeeded").await;
    assert_eq!(floor.job("desk.note", event_id).await.status, "running");
    floor.stage.open("slow");
    floor.until("desk.note", event_id, "succeeded").await;
    worker.stop().await;
}
