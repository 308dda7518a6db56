//! What goes over the wire.

use outbox_testing::eventually;

use crate::client::Client;
use crate::project::{App, Server};

/// The response is one that no cache keeps and no proxy holds back, and begins at once.
#[tokio::test]
async fn the_response_begins_at_once() {
    let app = App::new().await;
    let server = Server::start(&app);
    let mut client = Client::get(server.address, "/live", b"").await;
    for line in
        ["http/1.1 200 ok", "content-type: text/event-stream", "cache-control: no-store", "x-accel-buffering: no"]
    {
        assert!(client.head.lines().any(|one| one == line), "{line} in {}", client.head);
    }
    let greeting = client.frame().await.unwrap();
    let retry: u64 = greeting.field("retry").parse().unwrap();
    assert!((1_000..=2_000).contains(&retry) && greeting.is_silent(), "{greeting:?}");
    assert_eq!(client.refetch().await, "started");
}

/// S1-39: an event is a frame of its name, with the envelope as its data, without what is the application's own.
#[tokio::test]
async fn an_event_is_a_frame() {
    let app = App::new().await;
    let server = Server::start(&app);
    let mut client = Client::get(server.address, "/live", b"").await;
    assert_eq!(client.refetch().await, "started");
    let id = app.update("p1", 7, "Two\nlines\r, \"quoted\"").await;
    let frame = client.event().await;
    assert_eq!(frame.event(), "issue.updated");
    assert!(frame.id().starts_with(&id.to_string()), "{frame:?}");
    let sent: serde_json::Value = serde_json::from_str(frame.data()).unwrap();
    assert_eq!(sent["id"], id.to_string());
    assert_eq!(sent["name"], "issue.updated");
    assert_eq!(sent["version"], 1);
    assert_eq!(sent["subject"], serde_json::json!({ "kind": "issue", "id": "7" }));
    assert_eq!(sent["actor"], "ann");
    assert_eq!(sent["payload"], serde_json::json!({ "issue": 7, "title": "Two\nlines\r, \"quoted\"" }));
    let fields: Vec<_> = sent.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["actor", "correlation", "id", "name", "occurred_at", "payload", "subject", "version"]);
}

/// A silent response sends a heartbeat, which carries the position on, so that a stream that shows little can go on where it was.
#[tokio::test]
async fn a_silent_response_has_a_heartbeat() {
    let app = App::new().await;
    let server = Server::start(&app);
    let mut client = Client::get(server.address, "/live?events=wiki.*&heartbeat=20", b"").await;
    assert_eq!(client.refetch().await, "started");
    assert!(client.frame().await.unwrap().is_silent());
    let id = app.update("p1", 7, "not shown here").await;
    let beat = eventually("a heartbeat tells of it", async || {
        let beat = client.frame().await.unwrap();
        assert!(beat.is_silent(), "{beat:?}");
        beat.id().starts_with(&id.to_string()).then_some(beat)
    })
    .await;
    drop(client);
    let page = app.update_wiki(3).await;
    let header = format!("last-event-id: {}\r\n", beat.id());
    let mut back = Client::get(server.address, "/live?events=wiki.*", header.as_bytes()).await;
    assert!(back.event().await.id().starts_with(&page.to_string()));
}
