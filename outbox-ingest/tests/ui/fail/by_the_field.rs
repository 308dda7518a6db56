async fn handle(delivery: outbox_ingest::Delivery) {
    let _ = delivery.acknowledgement.acknowledge().await;
}

fn main() {}
