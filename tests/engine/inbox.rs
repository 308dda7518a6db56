//! The inbox by itself: a consumer of one's own, with its effect and its mark in one transaction.

use outbox::{EventId, Inbox, InboxError};
use outbox_testing::Sandbox;
use sqlx::{AssertSqlSafe, PgPool};
use tokio::sync::oneshot;

const MESSAGE: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

struct Service {
    sandbox: Sandbox,
    inbox: Inbox,
    message: EventId,
}

impl Service {
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.account (opened_by text not null)").await;
        let inbox = Inbox::new().schema(sandbox.schema()).unwrap();
        Self { sandbox, inbox, message: MESSAGE.parse().unwrap() }
    }

    fn pool(&self) -> &PgPool {
        self.sandbox.pool()
    }

    /// A delivery of the message; answers whether it had its effect.
    async fn consume(&self, consumer: &str, commits: bool) -> bool {
        let mut tx = self.pool().begin().await.unwrap();
        let first = self.inbox.is_first(&mut tx, consumer, self.message).await.unwrap();
        if first {
            let text = format!("insert into {} values ($1)", self.sandbox.table("account"));
            sqlx::query(AssertSqlSafe(text)).bind(consumer).execute(&mut *tx).await.unwrap();
        }
        if commits {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
        first
    }

    async fn accounts(&self) -> i64 {
        self.sandbox.number("select count(*) from :schema.account").await
    }
}

/// S2-26, S2-73: the marks are durable and the service's own, in the transaction of its effect: what was rolled back is had by the next delivery, what was
/// committed by none, whichever process looks; each consumer for itself. No outbox is built for it.
#[tokio::test]
async fn a_consumer_of_ones_own_has_its_effect_once() {
    let service = Service::new().await;
    assert!(service.consume("billing.open", false).await);
    assert_eq!(service.accounts().await, 0);
    assert!(service.consume("billing.open", true).await);
    for _ in 0..3 {
        assert!(!service.consume("billing.open", true).await);
    }
    // As another process, which remembers nothing.
    let other = Inbox::new().schema(service.sandbox.schema()).unwrap();
    let mut tx = service.pool().begin().await.unwrap();
    assert!(!other.is_first(&mut tx, "billing.open", service.message).await.unwrap());
    drop(tx);
    assert!(service.consume("billing.welcome", true).await, "the mark is this consumer's, not the message's");
    assert_eq!(service.accounts().await, 2);
}

/// S2-26: of two copies that arrive at once, the second waits for what the first comes to: had by the first, it is not had by the second;
/// rolled back by the first, it is.
#[tokio::test]
async fn of_two_copies_at_once_one_has_the_effect() {
    for first_commits in [true, false] {
        let service = Service::new().await;
        let mut first = service.pool().begin().await.unwrap();
        assert!(service.inbox.is_first(&mut first, "billing.open", service.message).await.unwrap());
        let (begun, has_begun) = oneshot::channel();
        let (inbox, pool, message) = (service.inbox.clone(), service.pool().clone(), service.message);
        let second = tokio::spawn(async move {
            let mut tx = pool.begin().await.unwrap();
            begun.send(()).unwrap();
            inbox.is_first(&mut tx, "billing.open", message).await.unwrap()
        });
        has_begun.await.unwrap();
        service.until_waits().await;
        assert!(!second.is_finished());
        if first_commits {
            first.commit().await.unwrap();
        } else {
            first.rollback().await.unwrap();
        }
        assert_eq!(second.await.unwrap(), !first_commits);
    }
}

impl Service {
    /// Waits until somebody waits for another's transaction on this inbox.
    async fn until_waits(&self) {
        let text = format!(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like 'insert into {}%'",
            self.sandbox.table("inbox")
        );
        outbox_testing::eventually("the second one waits", async || {
            (self.sandbox.number(&text).await == 1).then_some(())
        })
        .await;
    }
}

/// Without a transaction a mark would be there before its effect: refused, with what to do.
#[tokio::test]
async fn without_a_transaction_nothing_is_marked() {
    let service = Service::new().await;
    let mut connection = service.pool().acquire().await.unwrap();
    let refused = service.inbox.is_first(&mut connection, "billing.open", service.message).await.unwrap_err();
    assert!(matches!(refused, InboxError::NoTransaction { .. }), "{refused}");
    assert_eq!(service.sandbox.number("select count(*) from :schema.inbox").await, 0);
}
