//! The library of the application: the one place that names every crate.

outbox::modules![orders, inventory, analytics, renamed];

pub fn registry() -> outbox::Registry {
    outbox::Registry::linked()
}
