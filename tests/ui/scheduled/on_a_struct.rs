use outbox::prelude::*;

#[scheduled(every = "5m", name = "inventory.scan")]
pub struct Scan;

fn main() {}
