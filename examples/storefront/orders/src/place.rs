//! From a draft to a placed order.

use outbox::prelude::*;
use outbox::{PublishError, Published};
use sqlx::{PgConnection, Row as _};

use crate::events::OrderPlaced;
use crate::money::Discount;
use crate::order::{Line, Order};

/// Why an order was not placed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// There is no draft of it, or it went on since.
    #[error("order `{0}` cannot be placed: there is no draft of it")]
    NoDraft(String),
    /// The news could not be published, so nothing may be committed.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The database refused a statement.
    #[error("the order could not be written")]
    Database(#[from] sqlx::Error),
}

/// Writes down what a customer is about to buy. An order that is there already stays as it is.
///
/// # Errors
/// When the database does.
pub async fn draft_order(transaction: &mut PgConnection, order: &Order) -> Result<(), sqlx::Error> {
    let draft = sqlx::query(
        "insert into orders.order (id, customer_id, placed_at, currency) values ($1, $2, $3, $4) on conflict do nothing",
    );
    let draft = draft.bind(&order.id).bind(&order.customer.id).bind(order.placed_at).bind(&order.currency);
    if draft.execute(&mut *transaction).await?.rows_affected() == 0 {
        return Ok(());
    }
    let lines = &order.lines;
    sqlx::query(
        "insert into orders.line (order_id, number, sku, product, quantity, unit_price_cents, discount_basis_points)
         select $1, l.number, l.sku, l.product, l.quantity, l.unit_price_cents, l.discount
         from unnest($2::text[], $3::text[], $4::int[], $5::bigint[], $6::int[]) with ordinality
              as l (sku, product, quantity, unit_price_cents, discount, number)",
    )
    .bind(&order.id)
    .bind(lines.iter().map(|line| line.sku.as_str()).collect::<Vec<_>>())
    .bind(lines.iter().map(|line| line.product.as_str()).collect::<Vec<_>>())
    .bind(lines.iter().map(|line| line.quantity.cast_signed()).collect::<Vec<_>>())
    .bind(lines.iter().map(|line| i64::from(line.unit_price_cents)).collect::<Vec<_>>())
    .bind(lines.iter().map(|line| i32::from(line.discount.basis_points())).collect::<Vec<_>>())
    .execute(transaction)
    .await?;
    Ok(())
}

/// The customer has paid: the order's status and the news of it commit together, or not at all.
///
/// The order's number is the publish key, so that a request that is repeated does not publish twice.
///
/// # Errors
/// See [`PlaceError`]; roll the transaction back.
pub async fn place_order(transaction: &mut PgConnection, order: &Order) -> Result<Published, PlaceError> {
    let paid = sqlx::query("update orders.order set status = 'paid' where id = $1 and status in ('draft', 'paid')");
    if paid.bind(&order.id).execute(&mut *transaction).await?.rows_affected() == 0 {
        return Err(PlaceError::NoDraft(order.id.clone()));
    }
    Ok(OrderPlaced::from(order).publish(transaction).key(&order.id).await?)
}

/// What was ordered, for modules that act on it: the rows are the truth.
///
/// # Errors
/// When the database does.
pub async fn lines(connection: &mut PgConnection, order_id: &str) -> Result<Vec<Line>, sqlx::Error> {
    let lines = sqlx::query(
        "select sku, product, quantity, unit_price_cents, discount_basis_points
         from orders.line where order_id = $1 order by number",
    );
    lines.bind(order_id).fetch_all(connection).await?.iter().map(line).collect()
}

fn line(row: &sqlx::postgres::PgRow) -> Result<Line, sqlx::Error> {
    let out_of_range = |error: Box<dyn std::error::Error + Send + Sync>| sqlx::Error::Decode(error);
    let points = u16::try_from(row.try_get::<i32, _>(4)?).map_err(|error| out_of_range(error.into()))?;
    Ok(Line {
        sku: row.try_get(0)?,
        product: row.try_get(1)?,
        quantity: u32::try_from(row.try_get::<i32, _>(2)?).map_err(|error| out_of_range(error.into()))?,
        unit_price_cents: u32::try_from(row.try_get::<i64, _>(3)?).map_err(|error| out_of_range(error.into()))?,
        discount: Discount::from_basis_points(points).map_err(|error| out_of_range(error.into()))?,
    })
}
