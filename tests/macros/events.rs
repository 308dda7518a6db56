//! What `#[event]` registers.

use outbox::Event;
use outbox::prelude::*;
use outbox_core::{EventDescriptor, Registry};

use crate::support::event_id;

/// Something was sold.
#[event("sale.made")]
pub(crate) struct SaleMade {
    #[subject]
    pub(crate) sale_id: String,
    pub(crate) units: u32,
}

const LINE_OF_SALE_MADE: u32 = line!() - 7;

/// The same event in its next shape.
#[event("sale.made", version = 2)]
struct SaleMadeInEuro {
    cents: u64,
}

mod within {
    use outbox::prelude::*;

    /// An event that only its own module can see.
    #[event("sale.noted")]
    #[derive(Debug)]
    struct Noted;

    /// An event that its parent can see.
    #[event("sale.seen")]
    pub(super) struct Seen;

    #[test]
    fn a_private_event_has_its_constants() {
        assert_eq!((Noted::NAME, Noted::VERSION), ("sale.noted", 1));
        assert_eq!(format!("{Noted:?}"), "Noted");
    }
}

fn registered(name: &str, version: u32) -> &'static EventDescriptor {
    let is_it = |event: &&&EventDescriptor| (event.name, event.version) == (name, version);
    Registry::linked().events().iter().find(is_it).expect("a registered event")
}

/// S2-7: the type carries name and version.
#[test]
fn name_and_version_are_constants_of_the_type() {
    assert_eq!((SaleMade::NAME, SaleMade::VERSION), ("sale.made", 1));
    assert_eq!((SaleMadeInEuro::NAME, SaleMadeInEuro::VERSION), ("sale.made", 2));
    assert_eq!(within::Seen::NAME, <within::Seen as outbox_core::Message>::NAME);
    assert_eq!(<SaleMade as outbox_core::Message>::KIND, outbox_core::Kind::Event);
    assert_eq!(SaleMadeInEuro { cents: 5 }.subject_id(), None);
}

#[test]
fn the_registered_place_is_that_of_the_attribute() {
    let event = registered("sale.made", 1);
    assert_eq!(event.place.package, "outbox");
    assert_eq!(event.place.module_path, module_path!());
    assert_eq!(event.place.file, file!());
    assert_eq!(event.place.line, LINE_OF_SALE_MADE);
    assert_eq!((event.rust_type)(), std::any::type_name::<SaleMade>());
}

#[test]
fn versions_are_registered_each_for_itself() {
    assert_eq!((registered("sale.made", 2).rust_type)(), std::any::type_name::<SaleMadeInEuro>());
}

/// S0-34: whoever owns the effect can ask for a handler's key before it runs.
#[test]
fn the_key_of_a_handler_is_known_outside_it() {
    let key = SaleMade::idempotency_key(event_id(), "notifications.send_order_confirmation");
    assert_eq!(key.as_str(), "01ARZ3NDEKTSV4RRFFQ69G5FAV:notifications.send_order_confirmation");
}
