//! The facade under another path.
#![forbid(unsafe_code)]
#![deny(warnings)]

mod dependencies {
    pub use outbox as queue;
}

use dependencies::queue::prelude::*;

#[event("cart.filled", crate = crate::dependencies::queue)]
struct CartFilled {
    #[subject]
    cart: u64,
}

#[job("carts.sweep", crate = crate::dependencies::queue)]
struct Sweep;

#[subscriber(event = "cart.filled", name = "carts.note", idempotent = "does nothing", crate = crate::dependencies::queue)]
async fn note(_: CartFilled) -> HandlerResult {
    Ok(())
}

#[subscriber(job = "carts.sweep", idempotent = "does nothing", crate = crate::dependencies::queue)]
async fn sweep(_: Sweep) -> HandlerResult {
    Ok(())
}

fn main() {}
