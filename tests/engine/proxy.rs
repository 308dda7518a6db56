//! The fault kit's proxy in front of the tests' server.

use outbox_testing::Sandbox;
use outbox_testing::fault::{Point, Proxy};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

pub async fn start() -> Proxy {
    Proxy::start(&Sandbox::url().await).unwrap()
}

/// An application's pool that goes through it.
pub fn pool(proxy: &Proxy) -> PgPool {
    PgPoolOptions::new().max_connections(4).connect_lazy_with(proxy.options())
}

/// After a statement of the engine's own has taken place, before its answer: alone, or behind a pooler in a transaction of its own.
pub fn committed(statement: &str) -> Point {
    if Sandbox::is_pooled() { Point::after("commit").following(statement) } else { Point::after(statement) }
}
