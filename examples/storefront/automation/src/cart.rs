//! Carts that customers left behind.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

/// The carts, by a pool of this module's choice.
#[derive(Debug, Clone)]
pub struct Carts(PgPool);

impl Carts {
    /// The carts in this database.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self(pool)
    }

    /// Marks what the customer had left behind before `moment` as made good by an order.
    pub(crate) async fn resolve(
        &self,
        customer_id: &str,
        moment: DateTime<Utc>,
        order_id: &str,
    ) -> Result<(), sqlx::Error> {
        let resolve = sqlx::query(
            "update automation.cart set resolved_by = $3
             where customer_id = $1 and abandoned_at <= $2 and resolved_by is null",
        );
        resolve.bind(customer_id).bind(moment).bind(order_id).execute(&self.0).await?;
        Ok(())
    }
}

/// A customer went away and left a cart behind.
///
/// # Errors
/// When the database does.
pub async fn abandon_cart(
    connection: &mut PgConnection,
    customer_id: &str,
    moment: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let abandon =
        sqlx::query("insert into automation.cart (customer_id, abandoned_at) values ($1, $2) on conflict do nothing");
    abandon.bind(customer_id).bind(moment).execute(connection).await?;
    Ok(())
}
