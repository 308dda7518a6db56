//! What whoever receives may do: look at it, and leave it to the broker.

async fn receive<S: outbox_ingest::Source>(source: &S) {
    for delivery in source.receive(10).await {
        let _ = format!("{delivery:?}");
        drop(delivery);
    }
}

fn main() {
    let _ = receive::<Never>;
}

struct Never(outbox_ingest::Link);

impl outbox_ingest::Source for Never {
    fn name(&self) -> &str {
        "never"
    }

    fn link(&self) -> &outbox_ingest::Link {
        &self.0
    }

    async fn receive(&self, _: usize) -> Vec<outbox_ingest::Delivery> {
        std::future::pending().await
    }
}
