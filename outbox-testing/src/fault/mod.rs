//! Faults: what happens to a program and its database on their worst day, made to happen in a test.
//!
//! - [`Proxy`]: a network between a program and PostgreSQL that delays, cuts, goes silent or refuses, for all connections or
//!   for those of one `application_name`; it counts statements by name.
//! - [`Point`]: named points on that wire, before and after each statement, `claim`, `settle`, `commit`, where a statement
//!   or its answer is held or lost, or a process dies.
//! - [`Process`]: a child process that is frozen, thawed, killed or terminated, and says where it is.
//! - [`Session`], [`FullPool`]: somebody who holds a row, a table, a snapshot, a transaction, every connection.
//! - [`Server`](crate::server::Server): a PostgreSQL that stops, is killed, restarts, or fails over to a replica.
//!
//! ```no_run
//! use outbox_testing::fault::{Point, Proxy};
//!
//! # async fn example(order: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let proxy = Proxy::start(&outbox_testing::Sandbox::url().await)?;
//! let pool = sqlx::PgPool::connect(&proxy.url()).await?;
//!
//! // The server commits, and the program never hears of it.
//! let lost = proxy.cut_at(Point::after("commit"));
//! let mut tx = pool.begin().await?;
//! sqlx::query("insert into orders.order (id) values ($1)").bind(order).execute(&mut *tx).await?;
//! assert!(tx.commit().await.is_err());
//! assert_eq!(lost.reached(), 1);
//!
//! let there = sqlx::query_scalar("select exists (select from orders.order where id = $1)");
//! let there: bool = there.bind(order).fetch_one(&pool).await?;
//! assert!(there);
//! # Ok(())
//! # }
//! ```

mod conversation;
mod point;
mod process;
mod protocol;
mod proxy;
mod relay;
mod session;
mod statement;
mod weather;

pub use point::{Point, Then, Trap};
pub use process::{Process, ProcessHandle};
pub use proxy::{Connections, Proxy};
pub use session::{FullPool, LockError, Session};
pub use weather::Way;

/// The chapter for users, so that what it shows compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/faults.md")]
struct Chapter;
