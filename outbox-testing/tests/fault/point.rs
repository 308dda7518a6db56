//! What happens before a statement, and after it.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outbox_testing::eventually;
use outbox_testing::fault::{Point, Proxy, Then};
use outbox_testing::server::{Options, Server};
use sqlx::{Connection as _, PgConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Stand, execute, execute_raw};

/// A commit whose answer is lost is an error to the program, and took place.
#[tokio::test]
async fn the_answer_to_a_commit_is_lost() {
    let stand = Stand::new().await;
    let lost = stand.proxy.cut_at(Point::after("commit").following("greet"));
    let mut connection = stand.connect("one").await;
    // Another commit is not meant.
    connection.begin().await.unwrap().commit().await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    execute(&mut transaction, stand.add("greet", "there")).await.unwrap();
    assert!(matches!(transaction.commit().await, Err(sqlx::Error::Io(_))));
    assert_eq!((lost.reached(), stand.holds("there").await), (1, 1));
}

/// A commit that is lost on its way did not take place, and the server rolls back.
#[tokio::test]
async fn a_commit_is_lost_on_its_way() {
    let stand = Stand::new().await;
    let lost = stand.proxy.cut_at(Point::before("commit"));
    let mut connection = stand.connect("one").await;
    let mut transaction = connection.begin().await.unwrap();
    execute(&mut transaction, stand.add("greet", "not there")).await.unwrap();
    assert!(transaction.commit().await.is_err());
    assert_eq!((lost.reached(), stand.holds("not there").await), (1, 0));
    // Once means once.
    let mut connection = stand.connect("one").await;
    connection.begin().await.unwrap().commit().await.unwrap();
}

/// Held before, a statement has not happened; held after, it has, and only its program does not know. Released, both are as
/// if nothing had been. This is so for prepared statements and for plain ones.
#[tokio::test]
async fn held_before_and_after() {
    let stand = Stand::new().await;
    for (prepared, word) in [(true, "prepared"), (false, "plain")] {
        let before = stand.proxy.hold_at(Point::before("greet"));
        let after = stand.proxy.hold_at(Point::after("greet"));
        let (mut connection, text) = (stand.connect("one").await, stand.add("greet", word));
        let statement = tokio::spawn(async move {
            if prepared { execute(&mut connection, text).await } else { execute_raw(&mut connection, &text).await }
        });
        before.until_reached().await;
        assert_eq!((after.reached(), stand.holds(word).await), (0, 0));
        before.release();
        after.until_reached().await;
        assert_eq!(stand.holds(word).await, 1);
        assert!(!statement.is_finished());
        drop(after);
        statement.await.unwrap().unwrap();
    }
}

/// What is held can be lost after all; the program is told no more than that its connection is gone.
#[tokio::test]
async fn held_and_then_lost() {
    let stand = Stand::new().await;
    let held = stand.proxy.hold_at(Point::after("greet"));
    let (mut connection, text) = (stand.connect("one").await, stand.add("greet", "there"));
    let statement = tokio::spawn(async move { execute(&mut connection, text).await });
    held.until_reached().await;
    held.cut();
    assert!(statement.await.unwrap().is_err());
    assert_eq!(stand.holds("there").await, 1);
}

/// Held after a statement, the program has no byte of the answer. A driver may act on the first one.
#[tokio::test]
async fn no_part_of_an_answer_passes() {
    // A server of our own asks for no password, which is beyond what is spoken here.
    let start = || Server::start(&Options::default()).unwrap();
    let server = tokio::task::spawn_blocking(start).await.unwrap();
    let proxy = Proxy::start(server.url()).unwrap();
    let held = proxy.hold_at(Point::after("ask"));
    let mut other = PgConnection::connect(&proxy.url()).await.unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", proxy.options().get_port())).await.unwrap();
    client.write_all(b"\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0").await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"Z\0\0\0\x05I") {
        client.read_buf(&mut heard).await.unwrap();
    }
    client.write_all(b"Q\0\0\0\x19-- ask: a row\nselect\0").await.unwrap();
    held.until_reached().await;
    for _ in 0..20 {
        other.ping().await.unwrap();
    }
    let nothing = client.try_read(&mut [0]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    held.release();
    assert_eq!(client.read_u8().await.unwrap(), b'T');
}

/// A point can mean the n-th time, every time, and one application's connections only.
#[tokio::test]
async fn when_and_whose() {
    let stand = Stand::new().await;
    let third = stand.proxy.watch_at(Point::before("greet").nth(3));
    let from_second = stand.proxy.watch_at(Point::after("greet").nth(2).every_time());
    let of_other = stand.proxy.watch_at(Point::after("greet").of("other").every_time());
    let mut one = stand.connect("one").await;
    let mut other = stand.connect("other").await;
    for _ in 0..4 {
        execute(&mut one, stand.add("greet", "a")).await.unwrap();
    }
    execute(&mut other, stand.add("greet", "a")).await.unwrap();
    assert_eq!((third.reached(), from_second.reached(), of_other.reached()), (1, 4, 1));
    drop(of_other);
    execute(&mut other, stand.add("greet", "a")).await.unwrap();
    assert_eq!(from_second.reached(), 5);
}

/// A callback runs while the statement is held, and says what becomes of it.
#[tokio::test]
async fn a_callback_decides() {
    let stand = Stand::new().await;
    let called = Arc::new(AtomicBool::new(false));
    let by_callback = Arc::clone(&called);
    let trap = stand.proxy.call_at(Point::before("greet").every_time(), move || {
        // The first one is lost, the others pass.
        if by_callback.swap(true, Ordering::SeqCst) { Then::Pass } else { Then::Cut }
    });
    let mut connection = stand.connect("one").await;
    assert!(execute(&mut connection, stand.add("greet", "a")).await.is_err());
    let mut connection = stand.connect("one").await;
    execute(&mut connection, stand.add("greet", "a")).await.unwrap();
    assert_eq!((trap.reached(), stand.holds("a").await), (2, 1));
}

/// A copy asks its program for more before its answer is complete; a point after it waits for the end.
#[tokio::test]
async fn a_copy_is_held_at_its_end() {
    let stand = Stand::new().await;
    let held = stand.proxy.hold_at(Point::after("copy"));
    let mut connection = stand.connect("one").await;
    let text = format!("copy {} from stdin", stand.sandbox.table("word"));
    let copy = tokio::spawn(async move {
        let mut copy = connection.copy_in_raw(&text).await.unwrap();
        copy.send("there\n".as_bytes()).await.unwrap();
        copy.finish().await.unwrap()
    });
    held.until_reached().await;
    assert_eq!(stand.holds("there").await, 1);
    assert!(!copy.is_finished());
    held.release();
    assert_eq!(copy.await.unwrap(), 1);
}

/// An answer that is held does not keep other connections waiting.
#[tokio::test]
async fn others_go_on_meanwhile() {
    let stand = Stand::new().await;
    let pool = stand.pool("pool", 4);
    let held = stand.proxy.hold_at(Point::after("greet"));
    let text = stand.add("greet", "a");
    let of_task = pool.clone();
    let statement = tokio::spawn(async move { execute(&mut of_task.acquire().await.unwrap(), text).await });
    held.until_reached().await;
    for _ in 0..3 {
        execute(&mut pool.acquire().await.unwrap(), stand.add("greet", "a")).await.unwrap();
    }
    assert!(!statement.is_finished());
    eventually("the others are there", async || (stand.holds("a").await == 4).then_some(())).await;
    held.release();
    statement.await.unwrap().unwrap();
}
