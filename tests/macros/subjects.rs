//! `#[subject]` on every shape of type.

use std::fmt;

use outbox::Event;
use outbox::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct CartId(u64);

impl fmt::Display for CartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cart-{}", self.0)
    }
}

#[event("cart.filled")]
struct Filled {
    #[subject]
    cart: CartId,
}

#[event("cart.merged")]
struct Merged(u32, #[subject] CartId);

#[event("cart.closed")]
enum Closed {
    Paid {
        #[subject]
        cart: CartId,
        cents: u64,
    },
    Abandoned(#[subject] u64),
    Swept,
}

#[event("cart.opened")]
struct Opened;

#[event("cart.counted")]
enum Counted {
    Some(u32),
    None,
}

#[test]
fn the_marked_field_is_the_subject() {
    assert_eq!(Filled { cart: CartId(7) }.subject_id().as_deref(), Some("cart-7"));
    assert_eq!(Merged(1, CartId(8)).subject_id().as_deref(), Some("cart-8"));
}

#[test]
fn each_variant_has_a_subject_of_its_own() {
    assert_eq!(Closed::Paid { cart: CartId(7), cents: 5 }.subject_id().as_deref(), Some("cart-7"));
    assert_eq!(Closed::Abandoned(9).subject_id().as_deref(), Some("9"));
    assert_eq!(Closed::Swept.subject_id(), None);
}

#[test]
fn an_event_without_a_mark_has_no_subject() {
    assert_eq!(Opened.subject_id(), None);
    assert_eq!(Counted::Some(1).subject_id(), None);
    assert_eq!(Counted::None.subject_id(), None);
}
