//! The storefront, on a real PostgreSQL: a file a behaviour.

mod automation;
mod catalogue;
mod confirmation;
mod crash;
mod order_placed;
mod sample;
mod stock;
mod wiring;
