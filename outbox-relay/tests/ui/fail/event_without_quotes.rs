#[path = "../transport.rs"]
#[allow(dead_code)]
mod transport;
#[allow(unused_imports)]
use transport::Nats;

outbox_relay::relay!("shop.relay", event = order, transport = Nats);

fn main() {}
