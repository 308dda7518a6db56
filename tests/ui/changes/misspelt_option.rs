//! A secret that is not taken for one must not go unnoticed.
use outbox::Changes;

#[derive(Changes)]
struct User {
    name: String,
    #[changes(secrte)]
    token: String,
}

fn main() {
    let user = User { name: "ann".into(), token: "t".into() };
    let _ = Changes::created(&user);
}
