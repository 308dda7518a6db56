//! The derive is what makes fields comparable.
use outbox::Changes;

struct Issue {
    title: String,
}

fn main() {
    let (before, after) = (Issue { title: "Old".into() }, Issue { title: "New".into() });
    let _ = Changes::between(&before, &after);
}
