async fn handle<S: outbox_ingest::Source>(source: &S) {
    for delivery in source.receive(10).await {
        delivery.acknowledge().await;
    }
}

fn main() {}
