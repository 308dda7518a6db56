//! A NATS server with JetStream in a folder of its own.

use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use outbox_nats::async_nats::{self, HeaderMap, jetstream};
use outbox_relay::contract::{ServerProcess, find_program, free_port};
use tempfile::TempDir;
use tokio::net::TcpStream;

use super::{ByHand, PATIENCE};

pub(crate) struct NatsServer {
    // The process before its folder: dropped in this order.
    process: ServerProcess,
    port: u16,
    store: TempDir,
}

impl NatsServer {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let (port, store) = (free_port(), TempDir::new()?);
        let server = Self { process: spawn(port, &store), port, store };
        server.answers().await?;
        Ok(server)
    }

    pub(super) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(super) async fn stop(&mut self) {
        self.process.terminate(PATIENCE).await;
    }

    pub(super) async fn start_again(&mut self) -> anyhow::Result<()> {
        self.process = spawn(self.port, &self.store);
        self.answers().await
    }

    pub(super) async fn put(&self, message: &ByHand<'_>) -> anyhow::Result<()> {
        let jetstream = jetstream::new(async_nats::connect(self.url()).await?);
        let mut headers = HeaderMap::new();
        for (name, value) in message.attributes {
            headers.insert(format!("ce-{name}"), *value);
        }
        let (route, body) = (message.route.to_owned(), message.body.to_vec());
        jetstream.publish_with_headers(route, headers, body.into()).await?.await?;
        Ok(())
    }

    async fn answers(&self) -> anyhow::Result<()> {
        let answering = async {
            while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answering).await.context("NATS does not answer")
    }
}

fn spawn(port: u16, store: &TempDir) -> ServerProcess {
    let mut command = Command::new(find_program("nats-server", "nats-server"));
    command.args(["-a", "127.0.0.1", "-js", "-p", &port.to_string(), "-sd"]).arg(store.path());
    ServerProcess::spawn(&command)
}
