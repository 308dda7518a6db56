//! A shop of its own for each test: a database, because the modules' schemas have fixed names.

use std::time::Duration;

use orders::{Order, draft_order, place_order, read_orders};
use outbox::{Outbox, OutboxBuilder, Published};
use outbox_testing::Sandbox;
use sqlx::{ConnectOptions, PgPool};

/// The subscribers of `order.placed`, by name.
pub const SUBSCRIBERS: [&str; 5] = [
    "analytics.record_transaction",
    "automation.evaluate_cross_sell_signal",
    "automation.resolve_abandoned_cart",
    "inventory.finalize_stock_decrement",
    "notifications.send_order_confirmation",
];

/// A database with all tables, dropped with the handle.
#[derive(Debug)]
pub struct Shop {
    sandbox: Sandbox,
}

impl Shop {
    /// Makes the database, on the test binary's server.
    ///
    /// # Panics
    /// When there is no PostgreSQL and none can be obtained; the message says what to do.
    pub async fn open() -> Self {
        let sandbox = Sandbox::database().await;
        storefront_app::migrate(sandbox.pool()).await.expect("it is migrated");
        Self { sandbox }
    }

    /// A pool on the database.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        self.sandbox.application_pool()
    }

    /// The database, for other processes.
    #[must_use]
    pub fn url(&self) -> String {
        self.sandbox.pool().connect_options().to_url_lossy().to_string()
    }

    /// All handlers, with a mail provider that answers at once.
    pub fn worker(&self) -> OutboxBuilder {
        Sandbox::suited(storefront_app::worker(self.pool().clone(), self.pool().clone(), Duration::ZERO))
    }

    /// As [`worker`](Self::worker), built.
    ///
    /// # Panics
    /// When the wiring is wrong.
    pub async fn outbox(&self) -> Outbox {
        self.worker().build().await.expect("the wiring is right")
    }

    /// The one number that a query answers.
    ///
    /// # Panics
    /// When it fails, or answers no `bigint`.
    pub async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.pool()).await.expect("the query runs")
    }

    /// Runs statements.
    ///
    /// # Panics
    /// When one fails.
    pub async fn execute(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(self.pool()).await.expect("the statements run");
    }

    /// Handler, status and attempts of each job, by handler.
    ///
    /// # Panics
    /// When they cannot be read.
    pub async fn jobs(&self) -> Vec<(String, String, i32)> {
        let jobs = sqlx::query_as("select job_type, status, attempts from system.job order by job_type, id");
        jobs.fetch_all(self.pool()).await.expect("jobs can be read")
    }

    /// The status of the only job of a handler.
    ///
    /// # Panics
    /// When there is none.
    pub async fn status_of(&self, handler: &str) -> String {
        let status = sqlx::query_scalar("select status from system.job where job_type = $1");
        status.bind(handler).fetch_one(self.pool()).await.expect("there is one job")
    }
}

/// An order as a line of a file: 12 Queso at 14.00 less 15 %, and 5 Tofu at 18.60.
#[must_use]
pub fn an_order_line(id: &str) -> String {
    format!(
        r#"{{"order_id": "{id}", "placed_at": "1996-07-04T10:00:00Z", "customer": {{"id": "VINET"}}, "currency": "EUR", "lines": [{{"sku": "11", "product": "Queso", "quantity": 12, "unit_price_cents": 1400, "discount": 0.15}}, {{"sku": "14", "product": "Tofu", "quantity": 5, "unit_price_cents": 1860, "discount": 0}}]}}"#
    )
}

/// The order of [`an_order_line`].
///
/// # Panics
/// When `id` cannot be an order's number.
#[must_use]
pub fn an_order(id: &str) -> Order {
    let mut reading = read_orders(an_order_line(id).as_bytes());
    assert_eq!(reading.bad_lines, []);
    reading.orders.remove(0)
}

/// Places an order as the web role does.
///
/// # Panics
/// When it cannot be placed.
pub async fn place(outbox: &Outbox, order: &Order) -> Published {
    let mut tx = outbox.begin().await.expect("a transaction begins");
    draft_order(&mut tx, order).await.expect("the draft is written");
    // Tests run beside each other in one process, so each says which outbox it means.
    let published = outbox.scope(place_order(&mut tx, order)).await.expect("the order is placed");
    tx.commit().await.expect("it commits");
    published
}
