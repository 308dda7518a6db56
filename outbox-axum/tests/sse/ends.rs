//! How a response ends.

use outbox_testing::{DEADLINE, eventually};
use tokio::time::timeout;

use crate::client::Client;
use crate::project::{App, Server};

/// A server that shuts down waits for its open responses, and these end with the streams.
#[tokio::test]
async fn a_graceful_shutdown_is_not_held_up() {
    let app = App::new().await;
    let server = Server::start(&app);
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = Client::get(server.address, "/live", b"").await;
        assert_eq!(client.refetch().await, "started");
        clients.push(client);
    }
    let seen = app.update("p1", 1, "the last").await;
    for client in &mut clients {
        assert!(client.event().await.id().starts_with(&seen.to_string()));
    }
    app.outbox.live().close();
    for client in &mut clients {
        assert_eq!(client.next().await, None);
    }
    timeout(DEADLINE, server.stop()).await.expect("the server ends");
}

/// A client that has gone takes its stream with it, at the next frame at the latest.
#[tokio::test]
async fn a_client_that_has_gone_leaves_nothing() {
    let app = App::new().await;
    let server = Server::start(&app);
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = Client::get(server.address, "/live?heartbeat=20", b"").await;
        assert_eq!(client.refetch().await, "started");
        clients.push(client);
    }
    assert_eq!(app.outbox.live().load().streams, 5);
    clients.truncate(2);
    eventually("their streams are gone", async || (app.outbox.live().load().streams == 2).then_some(())).await;
    clients.clear();
    eventually("all of them are", async || (app.outbox.live().load().streams == 0).then_some(())).await;
}
