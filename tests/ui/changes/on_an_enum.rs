//! Fields are compared one by one, and the variants of an enum have different ones.
use outbox::Changes;

#[derive(Changes)]
enum Status {
    Open,
    Closed { by: String },
}

fn main() {
    let _ = Changes::between(&Status::Open, &Status::Closed { by: "ann".into() });
}
