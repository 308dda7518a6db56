//! Messages that the client cannot read: names of headers, ids and routing keys that are no text.

use std::net::SocketAddr;

use outbox_amqp::lapin::types::{AMQPValue, FieldTable};
use outbox_amqp::lapin::{BasicProperties, Connection, ConnectionProperties};
use outbox_ingest::Source as _;
use outbox_ingest::contract::{Origin as _, PATIENCE};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::node::url;
use crate::source::{Queue, publish};

/// What a client that sends text only can write, and what arrives in its place.
const WRITTEN: &[u8] = b"~~odd~~";
const SENT: &[u8] = b"~\xff\xfedd~~";

/// A network on which the one becomes the other.
async fn garbling(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let server = TcpStream::connect(server).await.unwrap();
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
                let mut bytes = vec![0; 64 << 10];
                while let Ok(read @ 1..) = from_client.read(&mut bytes).await {
                    // A frame of these tests comes in one piece.
                    while let Some(at) = bytes[..read].windows(WRITTEN.len()).position(|window| window == WRITTEN) {
                        bytes[at..at + WRITTEN.len()].copy_from_slice(SENT);
                    }
                    to_server.write_all(&bytes[..read]).await.unwrap();
                }
            });
        }
    });
    address
}

fn odd() -> BasicProperties {
    let odd = std::str::from_utf8(WRITTEN).unwrap();
    let text = |value: &str| AMQPValue::LongString(value.into());
    let mut headers = FieldTable::default();
    headers.insert(odd.into(), text("1"));
    headers.insert("cloudEvents:id".into(), text("known"));
    BasicProperties::default().with_message_id(odd.into()).with_delivery_mode(2).with_headers(headers)
}

/// S2-32: one message whose headers the client cannot read neither keeps the queue from being consumed nor is lost: it comes, as everything that stands
/// behind it, with what of it is text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_the_client_cannot_read_is_delivered_and_stops_nothing() {
    let queue = Queue::start().await;
    queue.declare().await;
    let through = url(garbling(queue.address()).await);
    let connection = Connection::connect(&through, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    publish(&channel, &queue.name, odd(), b"{\"odd\":1}").await;
    queue.publish_with(BasicProperties::default().with_delivery_mode(2), b"{\"behind\":1}").await;
    let source = queue.builder(queue.address()).connect().unwrap();
    let mut come = Vec::new();
    while come.len() < 2 {
        let received = timeout(PATIENCE, source.receive(10)).await;
        come.extend(received.unwrap_or_else(|_| panic!("both come: {:?}", source.link())));
    }
    let shown: Vec<_> = come.iter().map(|delivery| format!("{delivery:?}")).collect();
    assert!(shown.iter().any(|shown| shown.contains("\"id\"") && shown.contains("9 bytes")), "{shown:?}");
    assert!(shown.iter().any(|shown| shown.contains("12 bytes")), "{shown:?}");
    let status = source.link().status();
    assert!(status.losses >= 1, "the client could not read it at first: {status:?}");
}
