//! What the log says of a connection that there is not, and of a stream that is not there.

use outbox_ingest::Source as _;
use outbox_nats::{Nats, NatsSource};
use outbox_relay::contract::{Broker as _, PATIENCE};
use outbox_relay::{Link, Transport as _};
use outbox_testing::Logs;

use crate::server::{STREAM, Server, stream};

/// A port of this machine at which nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

async fn last_error(link: &Link) -> String {
    outbox_testing::eventually("it has heard why", async || link.status().last_error).await
}

/// O15: a destination that cannot be reached is told of with its address, as a destination; a source as a source; and neither with what else its
/// URL holds.
#[tokio::test]
async fn no_connection_is_told_of_with_its_address() {
    let logs = Logs::of("outbox");
    let address = nobody();
    let nats = Nats::builder(format!("nats://ann:hunter2@{address}")).connect().await.unwrap();
    let of_destination = logs.until(&["no connection", "destination=\"nats\"", &address]).await;
    assert!(last_error(nats.link()).await.contains(&address));
    drop(nats);
    let source =
        NatsSource::builder(format!("nats://ann:hunter2@{address}"), "SHOP", "billing").connect().await.unwrap();
    let of_source = logs.until(&["no connection", "source=\"billing\"", &address]).await;
    assert!(last_error(source.link()).await.contains(&address));
    assert!(!of_source.contains("destination"), "{of_source}");
    assert!(!format!("{of_destination} {of_source} {:?}", source.link().status()).contains("hunter2"));
}

/// A stream that is not there is told of with what to do, and looked for again and again; when it is there, it is found.
#[tokio::test]
async fn a_wrong_name_is_told_of_and_looked_for_again() {
    let server = Server::start().await;
    let logs = Logs::of("outbox");
    let nats = server.builder().check(STREAM).connect().await.unwrap();
    let told = logs.until(&["nothing is published", "the stream `CONTRACT`", "`.declare(..)`"]).await;
    assert!(told.starts_with("ERROR"), "{told}");
    let source =
        NatsSource::builder(format!("nats://{}", server.address()), STREAM, "billing").connect().await.unwrap();
    logs.until(&["nothing is consumed", "the stream `CONTRACT`", "source=\"billing\""]).await;
    server.jetstream().await.create_stream(stream(&["contract.>"])).await.unwrap();
    nats.ready(PATIENCE).await.unwrap();
    logs.until(&["connected to NATS"]).await;
    drop(source);
}

/// What `main` prints of settings that cannot be is a sentence, and holds no word of the URL.
#[tokio::test]
async fn a_url_that_cannot_be_read_is_told_of_in_words() {
    let error = Nats::builder("nats://ann:hunter2@[::1").connect().await.unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(error.to_string().contains("write `nats://broker.internal:4222`"), "{error}");
    let error = NatsSource::builder("nats://ann:hunter2@[::1", "SHOP", "billing").connect().await.unwrap_err();
    assert!(!format!("{error:?}").contains("Settings") && !error.to_string().contains("hunter2"), "{error:?}");
    let setting =
        outbox_relay::Relay::builder(Server::start().await.builder().connect().await.unwrap(), "/shop").window(0);
    assert_eq!(format!("{:?}", setting.build().unwrap_err()), "a window of 0 lets nothing out: say at least 1");
}
