//! A handler's connection goes straight to the next handler where the profile says so, and soon back to the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use outbox::Profile;
use outbox_testing::eventually;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::floor::{Do, Floor, Worker, ask_many};

/// A pool of the application's that counts what comes back to it.
fn counting(floor: &Floor) -> (PgPool, Arc<AtomicUsize>) {
    let back = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&back);
    let pool = PgPoolOptions::new().max_connections(2).after_release(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(true) })
    });
    (pool.connect_lazy_with(floor.sandbox.pool().connect_options().as_ref().clone()), back)
}

/// Jobs of a handler that takes the transaction, run one at a time; answers how often a connection came back to the pool meanwhile.
async fn back_for(jobs: usize, profile: Profile) -> usize {
    let floor = Floor::new().await;
    ask_many(&floor.outbox(&["till.book"]).build().await.unwrap(), jobs, [Do::Succeed]).await;
    let (pool, back) = counting(&floor);
    let outbox = floor.outbox_on(pool.clone(), &["till.book"]).profile(profile).concurrency(1).build().await.unwrap();
    let before = back.load(Ordering::Relaxed);
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!(floor.sandbox.number("select count(*) from :schema.done").await, i64::try_from(jobs).unwrap());
    eventually("every connection is back", async || (pool.num_idle() == pool.size() as usize).then_some(())).await;
    tokio::time::timeout(Duration::from_secs(10), pool.close()).await.expect("nobody holds a connection any more");
    back.load(Ordering::Relaxed) - before
}

/// By default each handler's connection passes through the pool, and its hooks; for high throughput one serves several handlers in
/// succession. Either way all are back when nothing runs.
#[tokio::test]
async fn a_connection_serves_several_handlers_where_the_profile_says_so() {
    const JOBS: usize = 60;
    let back = back_for(JOBS, Profile::default()).await;
    assert!(back >= JOBS, "{back} came back for {JOBS} jobs");
    let back = back_for(JOBS, Profile::high_throughput()).await;
    assert!(back < JOBS, "{back} came back for {JOBS} jobs");
}

/// A backlog of quick handlers does not keep the application's own requests from their turn.
#[tokio::test]
async fn who_waits_for_a_connection_has_it_beside_a_backlog() {
    let floor = Floor::new().await;
    ask_many(&floor.outbox(&["till.book"]).build().await.unwrap(), 400, [Do::Slow(2)]).await;
    let (pool, _) = counting(&floor);
    let outbox = floor.outbox_on(pool.clone(), &["till.book"]).profile(Profile::high_throughput()).concurrency(2);
    let worker = Worker::start(outbox.build().await.unwrap());
    floor.until_begun("till.book", "n0", 1).await;
    let _mine = pool.acquire().await.unwrap();
    assert!(floor.sandbox.jobs().await.live() > 0, "it had to wait for the end of the backlog");
    worker.stop().await;
}
