//! A value is compared with another one of its own type.
use outbox::Changes;

#[derive(Changes)]
struct Issue {
    title: String,
}

#[derive(Changes)]
struct Project {
    title: String,
}

fn main() {
    let _ = Changes::between(&Issue { title: "Old".into() }, &Project { title: "New".into() });
}
