//! Which products are bought together.

use std::collections::BTreeSet;

use sqlx::PgConnection;

/// Counts each pair of different products once.
pub(crate) async fn count<'a>(
    transaction: &mut PgConnection,
    skus: impl Iterator<Item = &'a str>,
) -> Result<(), sqlx::Error> {
    let skus: Vec<_> = skus.collect::<BTreeSet<_>>().into_iter().collect();
    let pairs =
        skus.iter().enumerate().flat_map(|(place, one)| skus[place + 1..].iter().map(move |other| (*one, *other)));
    let (firsts, seconds): (Vec<_>, Vec<_>) = pairs.unzip();
    // The pairs are sorted, so that two orders lock the rows that they share in the same order.
    sqlx::query(
        "insert into automation.cross_sell as c (sku, with_sku, orders)
         select sku, with_sku, 1 from unnest($1::text[], $2::text[]) with ordinality as pair (sku, with_sku, place) order by place
         on conflict (sku, with_sku) do update set orders = c.orders + 1",
    )
    .bind(firsts)
    .bind(seconds)
    .execute(transaction)
    .await?;
    Ok(())
}
