outbox::modules![inventory];

fn main() {}
