fn take(delivery: outbox_ingest::Delivery) {
    let outbox_ingest::Delivery { message: _, acknowledgement: _ } = delivery;
}

fn main() {}
