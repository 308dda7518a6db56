//! An outbox with webhooks on a schema of its own, and what the tests do with both.

use std::time::Duration;

use outbox::{EventId, Metadata, Outbox, Publish, event};
use outbox_testing::{JobRow, Sandbox};
use outbox_webhooks::{Created, Delivery, DeliveryAttempt, EndpointDisabled, NewEndpoint, Webhooks, WebhooksBuilder};

use crate::receiver::Receiver;

/// Long enough for a busy machine, and far below the longest call.
pub const TIMEOUT: Duration = Duration::from_secs(10);

#[event("issue.created")]
pub struct IssueCreated {
    #[subject]
    pub id: i64,
    pub title: String,
}

#[event("comment.created")]
pub struct CommentCreated;

#[event("project.exported")]
pub struct ProjectExported;

pub struct Floor {
    pub sandbox: Sandbox,
    pub outbox: Outbox,
    pub webhooks: Webhooks,
}

impl Floor {
    /// To loopback, by http.
    pub async fn new() -> Self {
        Self::with(|webhooks| webhooks).await
    }

    pub async fn with(settings: impl FnOnce(WebhooksBuilder) -> WebhooksBuilder) -> Self {
        Self::strict(|webhooks| settings(webhooks.allow_http(true).allow_private_networks(true))).await
    }

    /// By the defaults, which no test's receiver is reached by.
    pub async fn strict(settings: impl FnOnce(WebhooksBuilder) -> WebhooksBuilder) -> Self {
        let sandbox = Sandbox::new().await;
        let webhooks = Webhooks::builder(sandbox.application_pool().clone()).schema(sandbox.schema()).timeout(TIMEOUT);
        let webhooks = settings(webhooks).build().unwrap();
        webhooks.migrate().await.unwrap();
        let outbox = sandbox.outbox().state(webhooks.clone()).build().await.unwrap();
        Self { sandbox, outbox, webhooks }
    }

    pub async fn create(&self, endpoint: NewEndpoint) -> Created {
        let mut connection = self.sandbox.pool().acquire().await.unwrap();
        self.webhooks.create(&mut connection, endpoint).await.unwrap()
    }

    /// An endpoint of the tenant `acme` that gets everything.
    pub async fn endpoint(&self, receiver: &Receiver) -> Created {
        self.create(NewEndpoint::new("acme", receiver.url())).await
    }

    /// Publishes in this context, and does not wait for anything.
    pub async fn publish_in(&self, context: Metadata, event: &impl Publish) -> EventId {
        let publish = async {
            let mut tx = self.outbox.begin().await.unwrap();
            let published = event.publish(&mut tx).await.unwrap();
            tx.commit().await.unwrap();
            published.event_id
        };
        self.outbox.scope_with(context, publish).await
    }

    pub async fn publish(&self, event: &impl Publish) -> EventId {
        self.publish_in(Metadata::new().tenant("acme"), event).await
    }

    pub async fn issue(&self) -> EventId {
        self.publish(&issue()).await
    }

    /// Runs what is due, one job after the other.
    pub async fn drain(&self) {
        self.outbox.drain().await.unwrap();
    }

    /// What waits for its time need not wait any more.
    pub async fn all_due(&self) {
        self.sandbox.execute("update :schema.job_live set available_at = now() where status = 'pending'").await;
    }

    /// Runs everything to its end, whatever waits for a time.
    pub async fn to_the_end(&self) {
        self.drain().await;
        while self.sandbox.jobs().await.live() > 0 {
            self.all_due().await;
            self.drain().await;
        }
    }

    pub async fn deliveries(&self, of: EventId) -> Vec<Delivery> {
        let mut connection = self.sandbox.pool().acquire().await.unwrap();
        self.webhooks.deliveries_of(&mut connection, of, 100).await.unwrap()
    }

    pub async fn only(&self, of: EventId) -> Delivery {
        let deliveries = self.deliveries(of).await;
        assert_eq!(deliveries.len(), 1, "{deliveries:#?}");
        deliveries.into_iter().next().unwrap()
    }

    pub async fn attempts(&self, of: &Delivery) -> Vec<DeliveryAttempt> {
        let mut connection = self.sandbox.pool().acquire().await.unwrap();
        self.webhooks.attempts(&mut connection, of.id).await.unwrap()
    }

    pub async fn redeliver(&self, delivery: &Delivery) {
        let mut tx = self.outbox.begin().await.unwrap();
        self.webhooks.redeliver(&self.outbox, &mut tx, delivery.id).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// The jobs of deliveries.
    pub async fn jobs(&self) -> Vec<JobRow> {
        self.sandbox.jobs().await.of("webhooks.deliver").0
    }

    pub async fn disabled(&self) -> Vec<EndpointDisabled> {
        self.sandbox.published().await
    }
}

pub fn issue() -> IssueCreated {
    IssueCreated { id: 12, title: "It does not work".to_owned() }
}
