use outbox_ingest::Acknowledge;

async fn handle(delivery: outbox_ingest::Delivery) {
    let _ = Acknowledge::acknowledge(delivery).await;
}

fn main() {}
