//! A login role with no more than the documented grants (`docs/operations.md`) does all of it.

use outbox::{Outbox, Roles};
use outbox_webhooks::{DeliveryStatus, NewEndpoint, Webhooks};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};

use crate::floor::{Floor, TIMEOUT, issue};
use crate::receiver::{Receiver, Reply};

const GRANTS: &str = "
    grant select, insert, update, delete on :schema.webhook_endpoint, :schema.webhook_secret, :schema.webhook_message,
      :schema.webhook_delivery, :schema.webhook_attempt to :login;
    grant select on :schema.webhook_delivery_log, :schema.webhook_migration to :login;
    grant execute on function :schema.redrive(uuid, boolean) to :login";

/// A login that is a worker, dropped with the handle.
struct Login {
    owner: PgPool,
    prefix: String,
}

impl Login {
    async fn new(floor: &Floor) -> (Self, PgPool) {
        let prefix = format!("w{}", &uuid::Uuid::new_v4().simple().to_string()[..12]);
        let owner = floor.sandbox.pool().clone();
        Roles::new().schema(floor.sandbox.schema()).prefix(&*prefix).grant(&owner).await.unwrap();
        let login = format!("{prefix}_login");
        let make = format!("create role {login} login nosuperuser password 'x'; grant {prefix}_worker to {login}");
        owner.execute(sqlx::raw_sql(AssertSqlSafe(make))).await.unwrap();
        floor.sandbox.execute(&GRANTS.replace(":login", &login)).await;
        let options = owner.connect_options().as_ref().clone().username(&login).password("x");
        let pool = PgPoolOptions::new().max_connections(8).connect_with(options).await.unwrap();
        (Self { owner, prefix }, pool)
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let (options, prefix) = (self.owner.connect_options().as_ref().clone(), self.prefix.clone());
        // A thread of its own, because a drop cannot await. What stays is no reason to fail a test.
        let _ = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect_with(&options).await.ok()?;
                for role in ["login", "publisher", "worker", "reader", "admin"] {
                    let drop = format!("drop owned by {prefix}_{role} cascade; drop role {prefix}_{role}");
                    connection.execute(sqlx::raw_sql(AssertSqlSafe(drop))).await.ok()?;
                }
                Some(())
            })
        })
        .join();
    }
}

#[tokio::test]
async fn the_documented_grants_are_enough() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(410), Reply::status(200)]).await;
    let (_login, pool) = Login::new(&floor).await;
    let webhooks = Webhooks::builder(pool.clone()).schema(floor.sandbox.schema()).timeout(TIMEOUT);
    let webhooks = webhooks.allow_http(true).allow_private_networks(true).build().unwrap();
    webhooks.migrate().await.unwrap();
    let outbox = Outbox::builder(pool.clone()).schema(floor.sandbox.schema()).state(webhooks.clone());
    let outbox = outbox.build().await.unwrap();

    let mut tx = outbox.begin().await.unwrap();
    let created = webhooks.create(&mut tx, NewEndpoint::new("acme", receiver.url())).await.unwrap();
    let event = outbox.publish(&mut tx, &issue()).tenant("acme").await.unwrap().event_id;
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!(floor.disabled().await.len(), 1);

    let mut tx = outbox.begin().await.unwrap();
    let delivery = webhooks.deliveries_of(&mut tx, event, 10).await.unwrap().remove(0);
    assert_eq!(delivery.status, DeliveryStatus::Failed);
    webhooks.enable(&mut tx, created.endpoint.id).await.unwrap();
    webhooks.rotate_secret(&mut tx, created.endpoint.id, TIMEOUT).await.unwrap();
    webhooks.redeliver(&outbox, &mut tx, delivery.id).await.unwrap();
    tx.commit().await.unwrap();
    outbox.schedules().run_now("webhooks.prune").await.unwrap_or_else(|error| panic!("{error}"));
    outbox.drain().await.unwrap();
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Delivered);
    assert_eq!(floor.attempts(&delivery).await.len(), 2);
    assert_eq!(floor.sandbox.jobs().await.of("webhooks.prune").succeeded(), 1);
    let mut tx = outbox.begin().await.unwrap();
    webhooks.delete(&mut tx, created.endpoint.id).await.unwrap();
    tx.commit().await.unwrap();
    drop((outbox, webhooks));
    pool.close().await;
}
