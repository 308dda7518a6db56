//! An empty list says nothing.
use outbox::Changes;

#[derive(Changes)]
struct User {
    #[changes()]
    token: String,
}

fn main() {}
