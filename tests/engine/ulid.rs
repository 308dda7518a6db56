//! Ids in SQL.

use outbox::EventId;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use sqlx::types::Uuid;

use crate::generated::cases;
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

/// `upper` makes an S of a long s, which is no digit.
#[tokio::test]
async fn a_letter_that_upper_cases_to_a_digit_is_none() {
    let shop = Shop::new().await;
    let text = format!("select {}('01ARZ3NDEKT\u{17f}V4RRFFQ69G5FAV')", shop.sandbox.table("from_ulid"));
    let refused = sqlx::query(sqlx::AssertSqlSafe(text)).fetch_one(shop.sandbox.pool()).await.unwrap_err();
    assert!(refused.to_string().contains("is no ULID"), "{refused}");
}

/// Texts of 26 characters in either case, with one of them replaced by what may be none.
fn texts() -> impl Strategy<Value = String> {
    let id = any::<u128>().prop_map(|bits| EventId::from(Uuid::from_u128(bits)).to_string());
    let replaced = prop::option::of((any::<prop::sample::Index>(), "[0-9A-Za-z -]|\\PC"));
    (id, any::<bool>(), replaced).prop_map(|(id, lower, replaced)| {
        let id = if lower { id.to_lowercase() } else { id };
        let Some((at, odd)) = replaced else { return id };
        let (before, after) = id.split_at(at.index(id.len()));
        format!("{before}{odd}{}", &after[1..])
    })
}

/// SQL shows every id as the crate does, and reads exactly the ULIDs that the crate reads, as the same ids.
#[tokio::test]
async fn sql_and_the_crate_agree_on_every_id() {
    let shop = Shop::new().await;
    let [shown, read] = ["ulid", "from_ulid"].map(|function| shop.sandbox.table(function));
    let shown = format!("select {shown}(id) from unnest($1::uuid[]) with ordinality u (id, n) order by n");
    let read = format!("select {read}($1)");
    let mut runner = TestRunner::deterministic();
    let ids: Vec<Uuid> = (0..cases(400)).map(|_| Uuid::from_u128(drawn(&any::<u128>(), &mut runner))).collect();
    let texts_of: Vec<String> =
        sqlx::query_scalar(sqlx::AssertSqlSafe(shown)).bind(&ids).fetch_all(shop.sandbox.pool()).await.unwrap();
    let expected: Vec<String> = ids.iter().map(|id| EventId::from(*id).to_string()).collect();
    assert_eq!(texts_of, expected);
    for _ in 0..cases(400) {
        let text = drawn(&texts(), &mut runner);
        let by_sql: Result<Uuid, _> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(read.clone())).bind(&text).fetch_one(shop.sandbox.pool()).await;
        let by_the_crate = text.parse::<EventId>().map(EventId::as_uuid);
        assert_eq!(by_sql.ok(), by_the_crate.ok(), "{text:?}");
    }
}

fn drawn<S: Strategy>(strategy: &S, runner: &mut TestRunner) -> S::Value {
    strategy.new_tree(runner).unwrap().current()
}
