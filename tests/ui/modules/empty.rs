outbox::modules![];

fn main() {}
