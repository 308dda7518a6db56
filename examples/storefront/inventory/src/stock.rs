//! The stock's two movements.

use sqlx::PgConnection;

/// Goods have come in.
///
/// # Errors
/// When the database does.
pub async fn receive<'a>(
    connection: &mut PgConnection,
    goods: impl Iterator<Item = (&'a str, u64)>,
) -> Result<(), sqlx::Error> {
    let (skus, units): (Vec<_>, Vec<_>) = goods.map(|(sku, units)| (sku, units.cast_signed())).unzip();
    sqlx::query(
        "insert into inventory.stock as s (sku, received)
         select sku, sum(units) from unnest($1::text[], $2::bigint[]) as goods (sku, units) group by sku order by sku
         on conflict (sku) do update set received = s.received + excluded.received",
    )
    .bind(skus)
    .bind(units)
    .execute(connection)
    .await?;
    Ok(())
}

/// Goods go out.
///
/// # Errors
/// When the database does.
pub async fn take<'a>(
    connection: &mut PgConnection,
    goods: impl Iterator<Item = (&'a str, u32)>,
) -> Result<(), sqlx::Error> {
    let (skus, units): (Vec<_>, Vec<_>) = goods.map(|(sku, units)| (sku, i64::from(units))).unzip();
    // Sorted: two orders that share products lock them in the same order, so neither waits for the other in a circle.
    sqlx::query(
        "insert into inventory.stock as s (sku, taken)
         select sku, sum(units) from unnest($1::text[], $2::bigint[]) as goods (sku, units) group by sku order by sku
         on conflict (sku) do update set taken = s.taken + excluded.taken",
    )
    .bind(skus)
    .bind(units)
    .execute(connection)
    .await?;
    Ok(())
}
