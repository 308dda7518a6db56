//! A field is secret or is not.
use outbox::Changes;

#[derive(Changes)]
struct User {
    #[changes(secret = true)]
    token: String,
}

fn main() {}
