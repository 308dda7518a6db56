//! A field becomes JSON, so its type is one that serde can write.
use outbox::Changes;

struct Rank;

#[derive(Changes)]
struct Issue {
    rank: Rank,
}

fn main() {}
