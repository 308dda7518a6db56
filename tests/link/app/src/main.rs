fn main() {
    let registry = app::registry();
    assert_eq!(registry.faults(&outbox::TypeMap::default()), []);
    println!("{}", registry.stored_names().join("\n"));
}
