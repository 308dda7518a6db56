//! A network that is slow, silent, cut, or not there.

use std::time::{Duration, Instant};

use outbox_testing::eventually;
use outbox_testing::fault::Way;
use sqlx::postgres::PgSslMode;
use sqlx::{Connection as _, PgConnection};

use crate::support::{Stand, application, execute, execute_raw};

/// What passes is what it would be without a proxy, and it is counted by name and by application.
#[tokio::test]
async fn statements_are_counted_by_name() {
    let stand = Stand::new().await;
    let mut one = stand.connect("one").await;
    let mut other = stand.connect("other").await;
    for word in ["a", "b", "a"] {
        execute(&mut one, stand.add("greet", word)).await.unwrap();
    }
    let mut transaction = other.begin().await.unwrap();
    execute(&mut transaction, stand.add("greet", "a")).await.unwrap();
    transaction.commit().await.unwrap();
    let five: i32 = sqlx::query_scalar("select $1 + 2").bind(3).fetch_one(&mut other).await.unwrap();
    assert_eq!(five, 5);
    assert_eq!(stand.holds("a").await, 3);
    assert_eq!((stand.proxy.of("one").count("greet"), stand.proxy.all().count("greet")), (3, 4));
    assert_eq!(stand.proxy.of("one").count("commit"), 0);
    let of_other = stand.proxy.of("other").statements();
    let expected = [("begin", 1), ("commit", 1), ("greet", 1), ("select", 1)];
    assert_eq!(of_other, expected.map(|(name, times)| (name.to_owned(), times)).into());
    assert_eq!((stand.proxy.all().open(), stand.proxy.of("one").open()), (2, 1));
    one.close().await.unwrap();
    eventually("it is closed", async || (stand.proxy.of("one").open() == 0).then_some(())).await;
}

/// A message takes as long as it is told to, each way.
#[tokio::test]
async fn delay_is_each_ways_own() {
    let stand = Stand::new().await;
    let mut slow = stand.connect("slow").await;
    let round_trip = Duration::from_millis(90);
    stand.proxy.of("slow").delay(Way::ToServer, Duration::from_millis(30));
    stand.proxy.of("slow").delay(Way::ToClient, Duration::from_millis(60));
    let begun = Instant::now();
    execute_raw(&mut slow, "select 1").await.unwrap();
    assert!(begun.elapsed() >= round_trip);
    // Only the way back is slow: when the word is there, the answer is not.
    stand.proxy.of("slow").delay(Way::ToServer, Duration::ZERO);
    stand.proxy.of("slow").delay(Way::ToClient, Duration::from_mins(1));
    let text = stand.add("greet", "late");
    let answer = tokio::spawn(async move { execute_raw(&mut slow, &text).await });
    eventually("the word is there", async || (stand.holds("late").await == 1).then_some(())).await;
    assert!(!answer.is_finished());
    answer.abort();
}

/// A cut resets open connections of those that are meant; new ones are good.
#[tokio::test]
async fn cut_ends_open_connections() {
    let stand = Stand::new().await;
    let (cut, kept) = (application(&stand, "cut"), application(&stand, "kept"));
    let mut to_cut = stand.connect(&cut).await;
    let mut to_keep = stand.connect(&kept).await;
    stand.proxy.of(&cut).cut();
    let error = to_cut.ping().await.unwrap_err();
    assert!(matches!(error, sqlx::Error::Io(_)), "{error:?}");
    eventually("the server knows", async || (stand.backends(&cut).await == 0).then_some(())).await;
    to_keep.ping().await.unwrap();
    stand.connect(&cut).await.ping().await.unwrap();
    stand.proxy.all().cut();
    assert!(to_keep.ping().await.is_err());
}

/// In a black hole nothing arrives and nothing is refused, while others go on; what was sent arrives late.
#[tokio::test]
async fn black_hole_answers_nothing() {
    let stand = Stand::new().await;
    let mut lost = stand.connect("lost").await;
    let mut well = stand.connect("well").await;
    stand.proxy.of("lost").black_hole();
    let text = stand.add("greet", "late");
    let statement = tokio::spawn(async move { execute_raw(&mut lost, &text).await });
    eventually("it is sent", async || (stand.proxy.of("lost").count("greet") == 1).then_some(())).await;
    let options = stand.options("lost");
    let connection = tokio::spawn(async move { PgConnection::connect_with(&options).await.map(drop) });
    for _ in 0..20 {
        well.ping().await.unwrap();
    }
    assert!(!statement.is_finished() && !connection.is_finished());
    assert_eq!(stand.holds("late").await, 0);
    stand.proxy.of("lost").clear();
    statement.await.unwrap().unwrap();
    connection.await.unwrap().unwrap();
    assert_eq!(stand.holds("late").await, 1);
}

/// In a black hole the server does not hear that its client has gone, and holds what the client held.
#[tokio::test]
async fn black_hole_hides_the_end_of_a_connection() {
    let stand = Stand::new().await;
    let gone = application(&stand, "gone");
    let mut client = stand.connect(&gone).await;
    execute_raw(&mut client, "begin; select pg_current_xact_id()").await.unwrap();
    stand.proxy.of(&gone).black_hole();
    drop(client);
    let mut well = stand.connect("well").await;
    for _ in 0..20 {
        well.ping().await.unwrap();
    }
    assert_eq!(stand.backends(&gone).await, 1);
    stand.proxy.of(&gone).clear();
    eventually("the server knows", async || (stand.backends(&gone).await == 0).then_some(())).await;
}

/// Forgotten connections stay silent for good, and new ones are good at once; a cut ends them.
#[tokio::test]
async fn forgotten_connections_stay_silent() {
    let stand = Stand::new().await;
    let mut lost = stand.connect("lost").await;
    stand.proxy.of("lost").forget();
    let statement = tokio::spawn(async move { lost.ping().await });
    let mut new = stand.connect("lost").await;
    stand.proxy.of("lost").clear();
    for _ in 0..20 {
        new.ping().await.unwrap();
    }
    assert!(!statement.is_finished());
    stand.proxy.of("lost").cut();
    assert!(statement.await.unwrap().is_err());
}

/// Who connects is reset; who is connected goes on.
#[tokio::test]
async fn refusal_concerns_new_connections() {
    let stand = Stand::new().await;
    let mut there = stand.connect("there").await;
    stand.proxy.all().refuse();
    assert!(PgConnection::connect_with(&stand.options("new")).await.is_err());
    assert_eq!(stand.proxy.refused(), 1);
    there.ping().await.unwrap();
    stand.proxy.all().clear();
    stand.proxy.of("new").refuse();
    assert!(PgConnection::connect_with(&stand.options("new")).await.is_err());
    stand.connect("another").await.ping().await.unwrap();
    stand.proxy.of("new").clear();
    stand.connect("new").await.ping().await.unwrap();
}

/// The connections of a proxy end with it, on both sides; and a client that asks for encryption first is served.
#[tokio::test]
async fn connections_end_with_the_proxy() {
    let Stand { sandbox, proxy } = Stand::new().await;
    let encrypted_if_possible = proxy.options().ssl_mode(PgSslMode::Prefer);
    let mut connection = PgConnection::connect_with(&encrypted_if_possible).await.unwrap();
    connection.ping().await.unwrap();
    drop(proxy);
    assert!(connection.ping().await.is_err());
    assert!(PgConnection::connect_with(&encrypted_if_possible).await.is_err());
    drop(sandbox);
}

/// A URL that a proxy cannot stand before is refused.
#[test]
fn only_a_host_can_be_stood_before() {
    for url in ["no URL", "postgres:///db?host=/var/run/postgresql"] {
        assert!(outbox_testing::fault::Proxy::start(url).is_err(), "{url}");
    }
}

/// A slow link: a large answer takes as long as its bytes do.
#[tokio::test]
async fn a_slow_link_is_as_slow_as_it_is_told() {
    let stand = Stand::new().await;
    let mut slow = stand.connect("slow").await;
    stand.proxy.of("slow").throttle(100_000);
    let begun = Instant::now();
    execute_raw(&mut slow, "select repeat('x', 50000)").await.unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(500), "{:?}", begun.elapsed());
    stand.proxy.of("slow").throttle(0);
    execute_raw(&mut slow, "select repeat('x', 50000)").await.unwrap();
    assert_eq!((stand.proxy.of("slow").made(), stand.proxy.refused()), (1, 0));
}
