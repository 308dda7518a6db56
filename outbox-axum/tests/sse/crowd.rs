//! Five hundred clients of one process, ten of whom do not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outbox_testing::eventually;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::project::{App, Server};

const CLIENTS: usize = 500;
const STALLED: usize = 10;
const BUFFER: usize = 32;
const EVENTS: usize = 120;

/// Reads every event, in order, and counts. Answers how often it was told to read anew.
async fn read(mut client: Client, seen: Arc<AtomicUsize>) -> usize {
    let mut refetches = 0;
    let mut next = 0;
    while next < EVENTS {
        let frame = client.next().await.expect("an event comes");
        if frame.event() == "refetch" {
            refetches += 1;
        } else {
            assert_eq!(frame.data().trim(), next.to_string(), "in order, and none is missing");
            next += 1;
        }
        seen.fetch_add(1, Ordering::Relaxed);
    }
    refetches
}

/// S1-39: of five hundred clients ten never read their sockets. The others miss nothing; what waits for the ten is bounded by their
/// buffers, and when they read again they are told to read anew, and see the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_stalled_clients_of_five_hundred_cost_nobody_anything() {
    let app = App::new().await;
    let server = Server::start(&app);
    let seen = Arc::new(AtomicUsize::new(0));
    let mut readers = JoinSet::new();
    for _ in 0..CLIENTS - STALLED {
        let client = Client::get(server.address, "/live?pad=0", b"").await;
        readers.spawn(read(client, Arc::clone(&seen)));
    }
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let path = format!("/live?pad=32768&buffer={BUFFER}");
        stalled.push(Client::ask(server.address, &path, b"", Some(4_096)).await);
    }
    let all = |count: usize| (CLIENTS - STALLED) * (count + 1);
    // Everybody stands: the first frame of each is the word that it does.
    eventually("all have begun", async || {
        let load = app.outbox.live().load();
        (load.streams == CLIENTS && load.events == 0 && seen.load(Ordering::Relaxed) == all(0)).then_some(())
    })
    .await;
    let mut most = 0;
    for n in 0..EVENTS {
        app.update("p1", i64::try_from(n).unwrap(), "news").await;
        if n % 10 == 9 {
            eventually("all who read have seen them", async || {
                (seen.load(Ordering::Relaxed) == all(n + 1)).then_some(())
            })
            .await;
            let load = app.outbox.live().load();
            most = most.max(load.events);
        }
    }
    // The ten fill their buffers and no more; the others' are empty.
    assert!(most > 0 && most <= STALLED * BUFFER, "{most} events wait");
    while let Some(refetches) = readers.join_next().await {
        assert_eq!(refetches.unwrap(), 1, "told to read anew at the beginning, and never again");
    }
    for client in &mut stalled {
        client.read_head().await;
        assert_eq!(client.refetch().await, "started");
        let mut reasons = Vec::new();
        loop {
            let frame = client.next().await.unwrap();
            if frame.event() == "refetch" {
                reasons.push(frame.data().to_owned());
            } else if frame.data().starts_with(&format!("{} ", EVENTS - 1)) {
                break;
            }
        }
        assert!(!reasons.is_empty() && reasons.iter().all(|one| one == r#"{"reason":"slow"}"#), "{reasons:?}");
    }
}
