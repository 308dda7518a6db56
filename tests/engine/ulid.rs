//! Ids in SQL.

use crate::support::{Shop, publish};

/// S0-2: an id is a ULID, which SQL shows as programs and logs do, and reads back; what is none is refused.
#[tokio::test]
async fn ids_are_shown_and_read_as_ulids() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    let shown = publish(&outbox, "o1").await.event_id.to_string();
    for text in [shown.clone(), shown.to_lowercase()] {
        let found = format!(
            "select count(*) from :schema.event where id = :schema.from_ulid('{text}') and :schema.ulid(id) = '{shown}'"
        );
        assert_eq!(shop.sandbox.number(&found).await, 1, "{text}");
    }
    let edges = "select count(*) from (values ('00000000000000000000000000'), ('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')) v (t)
                 where :schema.ulid(:schema.from_ulid(t)) = t";
    assert_eq!(shop.sandbox.number(edges).await, 2);
    for none in ["8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "order", ""] {
        let text = format!("select {}('{none}')", shop.sandbox.table("from_ulid"));
        let refused = sqlx::query(sqlx::AssertSqlSafe(text)).fetch_one(shop.sandbox.pool()).await.unwrap_err();
        let code = refused.as_database_error().and_then(sqlx::error::DatabaseError::code);
        assert_eq!(code.as_deref(), Some("22P02"), "{none}");
    }
}
