//! Publishes, lists the crates of the handlers in Cargo.toml, and names none of them.

fn main() {
    let _ = orders::OrderPlaced { order_id: 1 };
    println!("{}", outbox::Registry::linked().stored_names().join("\n"));
}
