//! The facade under another name, in a crate that is strict.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]

extern crate queue as outbox;

use outbox::prelude::*;

/// Found through the crate's own line above.
#[event("cart.emptied")]
pub struct CartEmptied {
    /// Which cart.
    #[subject]
    pub cart: u64,
}

#[subscriber(event = "cart.emptied", name = "carts.note", idempotent = "does nothing")]
async fn note(_: CartEmptied) -> HandlerResult {
    Ok(())
}

/// Found through the option.
#[event("cart.filled", crate = ::queue)]
pub struct CartFilled {
    /// Which cart.
    #[subject]
    pub cart: u64,
}

#[subscriber(event = "cart.filled", name = "carts.count", idempotent = "does nothing", crate = ::queue)]
async fn count(_: CartFilled) -> HandlerResult {
    Ok(())
}
