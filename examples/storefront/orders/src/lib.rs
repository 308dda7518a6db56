//! Orders: the module that publishes `order.placed`, and does not know who listens.
//!
//! - [`OrderPlaced`] and its siblings are the events.
//! - [`place_order`] marks an order as paid and publishes, in the caller's transaction.
//! - [`lines`] is how other modules read what was ordered: the rows are the truth, an event is only the news.
//! - [`read_orders`] reads a file of orders.

mod events;
mod intake;
mod money;
mod object;
mod order;
mod place;

pub use events::{OrderCancelled, OrderFulfilled, OrderPaid, OrderPlaced, OrderRefunded};
pub use intake::{BadLine, OnBadLine, Reading, Refused, UnknownChoice, read_orders};
pub use money::{Discount, InvalidDiscount, revenue_cents};
pub use order::{Customer, Line, Order};
pub use place::{PlaceError, draft_order, lines, place_order};

/// The tables of this module, in a schema of its own. May be run again.
pub const TABLES: &str = include_str!("../tables.sql");
