//! A client that comes back.

use crate::client::Client;
use crate::project::{App, Server};

/// S1-40: who comes back within moments goes on where he was, with nothing missing and nothing twice, and is not told to read anew.
#[tokio::test]
async fn a_client_that_comes_back_goes_on() {
    let app = App::new().await;
    let server = Server::start(&app);
    let mut client = Client::get(server.address, "/live", b"").await;
    assert_eq!(client.refetch().await, "started");
    app.update("p1", 1, "seen").await;
    let last = client.event().await.id().to_owned();
    drop(client);
    let mut missed = Vec::new();
    for n in 2..5 {
        missed.push(app.update("p1", n, "missed").await);
    }
    let mut back = Client::get(server.address, "/live", format!("Last-Event-ID: {last}\r\n").as_bytes()).await;
    for id in missed {
        assert!(back.event().await.id().starts_with(&id.to_string()));
    }
    // A refetch can be gone on from as well.
    let mut fresh = Client::get(server.address, "/live", b"").await;
    let refetch = fresh.next().await.unwrap();
    assert_eq!(refetch.event(), "refetch");
    drop(fresh);
    let next = app.update("p1", 5, "behind the refetch").await;
    let header = format!("Last-Event-ID: {}\r\n", refetch.id());
    let mut back = Client::get(server.address, "/live", header.as_bytes()).await;
    assert!(back.event().await.id().starts_with(&next.to_string()));
}

/// S1-40: whatever else is brought back is answered by a refetch, in a stream like any other, and never by an error.
#[tokio::test]
async fn anything_else_is_told_to_read_anew() {
    let app = App::new().await;
    let server = Server::start(&app);
    let odd: [&[u8]; 7] = [
        b"",
        b"7",
        b"-",
        b"01ARZ3NDEKTSV4RRFFQ69G5FAV",
        b"01ARZ3NDEKTSV4RRFFQ69G5FAV-00000000",
        b"\xff\xfe",
        &[b'x'; 4_000],
    ];
    for id in odd {
        let header = [b"last-event-id: ".as_slice(), id, b"\r\n"].concat();
        let mut client = Client::get(server.address, "/live", &header).await;
        assert!(client.head.starts_with("http/1.1 200"), "{}", client.head);
        assert_eq!(client.refetch().await, "forgotten", "{id:?}");
        let seen = app.update("p1", 1, "seen").await;
        assert!(client.event().await.id().starts_with(&seen.to_string()));
    }
}
