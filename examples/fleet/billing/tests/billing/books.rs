//! A billing service for each test, to which facts come as they are.

use contracts::{Money, PolicyState, Status};
use outbox::{Event, Outbox};
use outbox_testing::Sandbox;
use platform::Release;

pub(crate) struct Books {
    pub(crate) outbox: Outbox,
    pub(crate) sandbox: Sandbox,
}

impl Books {
    /// The service of this release. Nothing leaves it: its own facts stay where they are.
    pub(crate) async fn open(release: Release) -> Self {
        let sandbox = Sandbox::database().await;
        billing::migrate(sandbox.pool()).await.unwrap();
        let registry = billing::releases::registry(release).with_subscribers(|one| one.name != "billing.relay");
        let outbox = sandbox.outbox().registry(registry).build().await.unwrap();
        Self { outbox, sandbox }
    }

    /// A fact comes, and is handled.
    pub(crate) async fn told(&self, fact: &impl Event) {
        let mut tx = self.outbox.begin().await.unwrap();
        self.outbox.publish(&mut tx, fact).await.unwrap();
        tx.commit().await.unwrap();
        self.outbox.drain().await.unwrap();
    }

    pub(crate) async fn knows(&self, policy_id: &str) -> Option<PolicyState> {
        billing::projection::find(self.sandbox.pool(), policy_id).await.unwrap()
    }

    pub(crate) async fn charged(&self) -> i64 {
        self.sandbox.number("select coalesce(sum(cents), 0)::bigint from billing.ledger").await
    }
}

pub(crate) fn policy(policy_id: &str, cents: i64, status: Status, revision: i32) -> PolicyState {
    PolicyState {
        policy_id: policy_id.to_owned(),
        holder: "Knoll".to_owned(),
        premium: Money::euros(cents),
        status,
        revision,
    }
}
