#[path = "../transport.rs"]
#[allow(dead_code)]
mod transport;
#[allow(unused_imports)]
use transport::Nats;

outbox_relay::relay!("shop.relay", events = ["order.*"], transport = Nats);

fn main() {}
