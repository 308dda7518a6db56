//! Wiring that only the whole program can judge.

outbox::modules![quiet, twice_a, twice_b];

fn main() {
    for fault in outbox::Registry::linked().faults(&outbox::TypeMap::default()) {
        println!("{fault}");
    }
}
