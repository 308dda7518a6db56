//! Several processes at once.

use outbox::Outbox;

use crate::fake::Fake;
use crate::floor::{Floor, Running, policies};

/// S2-71: two replicas that take the same messages at the same moment, over and over: each event is there once, with one job for each
/// subscriber and one effect, and neither of them failed. What keeps them apart is the database, not a lock in a process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_with_the_same_messages_store_each_once() {
    let floor = Floor::new().await;
    let replicas: [Outbox; 2] = [floor.outbox(&["billing.book"]).await, floor.outbox(&["billing.book"]).await];
    let messages = policies(200);
    let mut reversed = messages.clone();
    reversed.reverse();
    // To each replica all of them, in orders that would have them wait for each other.
    let brokers = [Fake::new(), Fake::new()];
    brokers[0].send_all(&messages);
    brokers[1].send_all(&reversed);
    let ingests = brokers.clone().map(|fake| outbox_ingest::Ingest::builder(fake).prefetch(20).build().unwrap());
    let running: Vec<_> =
        ingests.iter().zip(&replicas).map(|(ingest, outbox)| Running::start(ingest, outbox)).collect();
    for fake in &brokers {
        fake.until_acknowledged(200).await;
    }
    for one in running {
        one.stop().await;
    }
    let statuses = ingests.each_ref().map(outbox_ingest::Ingest::status);
    let [one, other] = &statuses;
    assert_eq!((one.stored + other.stored, one.duplicates + other.duplicates), (200, 200));
    assert_eq!((one.given_back, other.given_back), (0, 0));
    assert_eq!((floor.events().await, floor.jobs().await.len()), (200, 200));
    tokio::join!(async { replicas[0].drain().await.unwrap() }, async { replicas[1].drain().await.unwrap() });
    assert_eq!(floor.sandbox.number("select count(*) from :schema.effect").await, 200);
    assert_eq!(floor.sandbox.number("select count(distinct number) from :schema.effect").await, 200);
}

/// Two replicas share what one broker has; none of it is taken twice, and each holds no more than it may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_a_queue() {
    let floor = Floor::new().await;
    let replicas = [floor.outbox(&["billing.book"]).await, floor.outbox(&["billing.book"]).await];
    let ingests = [0, 1].map(|_| floor.ingest_with(|builder| builder.prefetch(10)));
    let running: Vec<_> =
        ingests.iter().zip(&replicas).map(|(ingest, outbox)| Running::start(ingest, outbox)).collect();
    floor.fake.send_all(&policies(300));
    floor.fake.until_acknowledged(300).await;
    for one in running {
        one.stop().await;
    }
    assert_eq!(ingests.iter().map(|ingest| ingest.status().stored).sum::<u64>(), 300);
    assert!(floor.fake.most_in_hand() <= 20, "{} in hand", floor.fake.most_in_hand());
    assert_eq!((floor.events().await, floor.jobs().await.len()), (300, 300));
}
