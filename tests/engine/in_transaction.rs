//! In-transaction subscribers: run inside of `publish`, on the caller's connection, exactly once for each event.

mod commits;
mod everywhere;
mod fails;
mod publishes;

use outbox::prelude::*;
use outbox::{OutboxTransaction, PublishError};
use sqlx::AssertSqlSafe;

use crate::sql::assert_usable;
use crate::support::{Effects, Script, Shop};

/// A wish.
#[event("wish.uttered")]
struct WishUttered {
    #[subject]
    wish: String,
}

/// What the audit says of itself.
#[event("audit.kept")]
struct AuditKept {
    #[subject]
    of: String,
}

#[derive(Clone)]
struct Audit(String);

impl Audit {
    async fn keep(&self, tx: &mut Tx<'_>, event: &Envelope) -> Result<(), sqlx::Error> {
        let text = format!(
            "insert into {} (event_id, action, who, subject_id, occurred_at) values ($1, $2, $3, $4, $5)",
            self.0
        );
        sqlx::query(AssertSqlSafe(text))
            .bind(event.id.as_uuid())
            .bind(&event.name)
            .bind(&event.metadata.actor)
            .bind(&event.subject.id)
            .bind(event.occurred_at)
            .execute(&mut **tx)
            .await
            .map(drop)
    }
}

/// Keeps a row of every event, whatever it is.
#[subscriber(event = "*", name = "audit.keep", in_transaction)]
async fn keep(event: Envelope, mut tx: Tx<'_>, State(audit): State<Audit>) -> HandlerResult {
    Ok(audit.keep(&mut tx, &event).await?)
}

/// Does as the wish says.
#[subscriber(event = "wish.uttered", name = "wishes.grant", in_transaction, timeout = "1s", when = is_one)]
async fn grant(
    wish: WishUttered,
    mut tx: Tx<'_>,
    State(effects): State<Effects>,
    State(script): State<Script>,
) -> HandlerResult {
    script.note(&wish.wish);
    effects.add(&mut tx, "wishes.grant", &wish.wish).await?;
    match wish.wish.as_str() {
        "an error" => Err("no wish left")?,
        "a discard" => Err(Failure::discard("no wish left"))?,
        "a panic" => panic!("the lamp broke"),
        "to wait" => std::future::pending().await,
        "a mistake" => _ = sqlx::query("select 1 / 0").execute(&mut *tx).await,
        "an end" => _ = sqlx::query("commit").execute(&mut *tx).await?,
        "more" => _ = WishUttered { wish: "one more".into() }.publish(&mut tx).await?,
        "more, if possible" => {
            let refused = WishUttered { wish: "an error".into() }.publish(&mut tx).await.expect_err("it fails");
            script.note(refused.to_string());
        }
        _ => {}
    }
    Ok(())
}

fn is_one(wish: &WishUttered) -> bool {
    wish.wish != "nothing"
}

/// A shop with a table for the audit.
struct Audited {
    shop: Shop,
}

impl Audited {
    async fn new() -> Self {
        let shop = Shop::new().await;
        shop.sandbox
            .execute(
                "create table :schema.audit_log (event_id uuid primary key, action text not null, who text, subject_id text,
                 occurred_at timestamptz not null)",
            )
            .await;
        Self { shop }
    }

    fn builder(&self, handlers: &[&str]) -> outbox::OutboxBuilder {
        self.shop.outbox(handlers).state(Audit(self.shop.sandbox.table("audit_log")))
    }

    async fn outbox(&self, handlers: &[&str]) -> Outbox {
        self.builder(handlers).build().await.unwrap()
    }

    async fn audited(&self) -> i64 {
        self.shop.sandbox.number("select count(*) from :schema.audit_log").await
    }

    async fn events(&self) -> i64 {
        self.shop.sandbox.number("select count(*) from :schema.event").await
    }

    /// Utters a wish in a transaction that goes on and commits, with a row of its own.
    async fn refused(&self, outbox: &Outbox, wish: &str) -> PublishError {
        let mut tx = outbox.begin().await.unwrap();
        let error = outbox.publish(&mut tx, &of(wish)).key(wish).await.unwrap_err();
        self.effects_are(&mut tx, 0).await;
        assert_usable(tx, &self.shop.sandbox).await;
        self.shop.sandbox.execute("delete from :schema.effect").await;
        assert_eq!((self.events().await, self.audited().await), (0, 0), "{wish}");
        assert_eq!(self.shop.sandbox.number("select count(*) from :schema.publish_key").await, 0, "the key is free");
        error
    }

    async fn effects_are(&self, tx: &mut OutboxTransaction, count: i64) {
        let text = format!("select count(*) from {}", self.shop.sandbox.table("effect"));
        let found: i64 = sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&mut **tx).await.unwrap();
        assert_eq!(found, count);
    }
}

fn of(wish: &str) -> WishUttered {
    WishUttered { wish: wish.into() }
}
