//! A NATS server with JetStream in a folder of its own.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use futures_util::StreamExt as _;
use outbox_nats::async_nats::jetstream::consumer::{AckPolicy, pull};
use outbox_nats::async_nats::jetstream::{self, stream};
use outbox_nats::async_nats::{self, HeaderMap};
use outbox_nats::{Nats, NatsBuilder};
use outbox_relay::contract::{Broker, PATIENCE, ServerProcess, Stored, find_program, free_port};
use tempfile::TempDir;
use tokio::net::TcpStream;

/// The stream of the tests.
pub const STREAM: &str = "CONTRACT";
/// The server's default.
const MAX_PAYLOAD: usize = 1 << 20;

pub struct Server {
    process: ServerProcess,
    port: u16,
    store: TempDir,
}

pub fn stream(subjects: &[&str]) -> stream::Config {
    let subjects = subjects.iter().map(|subject| (*subject).to_owned()).collect();
    stream::Config { name: STREAM.to_owned(), subjects, ..stream::Config::default() }
}

fn spawn(port: u16, store: &TempDir) -> ServerProcess {
    let mut command = Command::new(find_program("nats-server", "nats-server"));
    command.args(["-a", "127.0.0.1", "-js", "-p", &port.to_string(), "-sd"]).arg(store.path());
    ServerProcess::spawn(&command)
}

impl Server {
    pub fn builder(&self) -> NatsBuilder {
        Nats::builder(format!("nats://{}", self.address()))
    }

    /// As any client sees it.
    pub async fn jetstream(&self) -> jetstream::Context {
        let client = async_nats::connect(format!("nats://{}", self.address())).await.unwrap();
        jetstream::new(client)
    }

    async fn listens(&self) {
        let listening = async {
            while TcpStream::connect(self.address()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, listening).await.expect("nats-server listens");
    }
}

impl Broker for Server {
    type Transport = Nats;

    const DEDUPLICATES: bool = true;

    async fn start() -> Self {
        let (port, store) = (free_port(), TempDir::new().unwrap());
        let server = Self { process: spawn(port, &store), port, store };
        server.listens().await;
        server
    }

    fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    async fn transport(&self, address: SocketAddr) -> Nats {
        Nats::builder(format!("nats://{address}")).declare(stream(&["contract.>"])).connect().await.unwrap()
    }

    fn too_large(&self) -> usize {
        MAX_PAYLOAD
    }

    async fn take_elsewhere(&self) {
        self.jetstream().await.update_stream(stream(&["contract.>", "elsewhere.>"])).await.unwrap();
    }

    async fn stored(&self) -> Vec<Stored> {
        let jetstream = self.jetstream().await;
        let Ok(mut stream) = jetstream.get_stream(STREAM).await else { return Vec::new() };
        let count = usize::try_from(stream.info().await.unwrap().state.messages).unwrap();
        let config = pull::Config { ack_policy: AckPolicy::None, ..pull::Config::default() };
        let consumer = stream.create_consumer(config).await.unwrap();
        let messages = consumer.messages().await.unwrap().take(count);
        let read = messages.map(|message| stored(&message.unwrap())).collect();
        tokio::time::timeout(PATIENCE, read).await.expect("the stream is read")
    }

    async fn kill(&mut self) {
        self.process.kill();
    }

    async fn restart(&mut self) {
        self.process = spawn(self.port, &self.store);
        self.listens().await;
    }

    fn freeze(&self) {
        self.process.freeze();
    }

    fn thaw(&self) {
        self.process.thaw();
    }
}

fn stored(message: &async_nats::Message) -> Stored {
    let none = HeaderMap::new();
    let headers = message.headers.as_ref().unwrap_or(&none);
    let text = |name: &str| headers.get(name).map(|value| decoded(value.as_str()));
    let mut attributes = BTreeMap::new();
    for (name, values) in headers.iter() {
        if let Some(attribute) = name.to_string().strip_prefix("ce-") {
            attributes.insert(attribute.to_owned(), decoded(values[0].as_str()));
        }
    }
    assert_eq!(attributes.remove("datacontenttype"), text("content-type"));
    Stored {
        id: text("Nats-Msg-Id").unwrap_or_default(),
        route: message.subject.to_string(),
        attributes,
        content_type: text("content-type").unwrap_or_default(),
        traceparent: text("traceparent"),
        payload: message.payload.to_vec(),
    }
}

fn decoded(value: &str) -> String {
    percent_encoding::percent_decode_str(value).decode_utf8().unwrap().into_owned()
}
