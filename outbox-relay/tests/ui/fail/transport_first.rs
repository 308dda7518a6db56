#[path = "../transport.rs"]
#[allow(dead_code)]
mod transport;
#[allow(unused_imports)]
use transport::Nats;

outbox_relay::relay!("shop.relay", transport = Nats, event = "order.*");

fn main() {}
