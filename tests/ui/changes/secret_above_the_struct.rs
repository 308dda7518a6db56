//! A field is secret, not the struct.
use outbox::Changes;

#[derive(Changes)]
#[changes(secret)]
struct User {
    token: String,
}

fn main() {}
