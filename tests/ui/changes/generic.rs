//! What changed is told by the names of one shape.
use outbox::Changes;

#[derive(Changes)]
struct Page<T> {
    items: Vec<T>,
}

fn main() {}
