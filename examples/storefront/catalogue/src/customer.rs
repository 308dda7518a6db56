//! What customers do before they order.

use outbox::prelude::*;

/// Somebody opened an account.
#[event("customer.registered")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerRegistered {
    /// Which customer.
    #[subject]
    pub customer_id: String,
}

/// A customer put a product on a list of wishes.
#[event("wishlist.item_added")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WishlistItemAdded {
    /// Which list.
    #[subject]
    pub wishlist_id: String,
    /// Whose list.
    pub customer_id: String,
    /// Which product.
    pub sku: String,
}
