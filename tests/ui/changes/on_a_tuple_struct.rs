//! A field without a name cannot be listed by its name.
use outbox::Changes;

#[derive(Changes)]
struct Title(String);

fn main() {
    let _ = Changes::created(&Title("One".into()));
}
