//! A RabbitMQ node in a folder of its own.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use outbox_amqp::lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use outbox_amqp::lapin::types::{AMQPValue, FieldTable};
use outbox_amqp::lapin::{BasicProperties, Connection, ConnectionProperties};
use outbox_relay::contract::{ServerProcess, find_program, free_port};
use tempfile::TempDir;

use super::{ByHand, PATIENCE};

/// The name daemon is started with the node, so that it ends with it; the node finds it there.
const SCRIPT: &str = r#"epmd -address 127.0.0.1 & exec "$1""#;

pub(crate) struct RabbitNode {
    // The process before its folder: dropped in this order.
    process: ServerProcess,
    port: u16,
    /// For the node's own business.
    inner: [u16; 2],
    folder: TempDir,
}

impl RabbitNode {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let (port, inner) = (free_port(), [free_port(), free_port()]);
        let folder = TempDir::new()?;
        let config = format!("listeners.tcp.1 = 127.0.0.1:{port}\nlog.file = false\n");
        std::fs::write(folder.path().join("rabbitmq.conf"), config)?;
        let node = Self { process: spawn(&folder, port, inner), port, inner, folder };
        node.answers().await?;
        Ok(node)
    }

    pub(super) fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port)
    }

    pub(super) async fn stop(&mut self) {
        self.process.terminate(PATIENCE).await;
    }

    pub(super) async fn start_again(&mut self) -> anyhow::Result<()> {
        self.process = spawn(&self.folder, self.port, self.inner);
        self.answers().await
    }

    pub(super) async fn put(&self, message: &ByHand<'_>) -> anyhow::Result<()> {
        let connection = Connection::connect(&self.url(), ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let mut headers = FieldTable::default();
        for (name, value) in message.attributes {
            headers.insert(format!("cloudEvents:{name}").into(), AMQPValue::LongString((*value).into()));
        }
        let properties = BasicProperties::default().with_headers(headers).with_delivery_mode(2);
        let (exchange, route) = (platform::PREFIX.into(), message.route.into());
        let options = BasicPublishOptions::default();
        channel.basic_publish(exchange, route, options, message.body, properties).await?.await?;
        connection.close(200, "put".into()).await?;
        Ok(())
    }

    async fn answers(&self) -> anyhow::Result<()> {
        let answering = async {
            while Connection::connect(&self.url(), ConnectionProperties::default()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answering).await.context("RabbitMQ does not answer")
    }
}

/// The script itself, not the one that Debian puts before it, which changes the user.
fn program() -> PathBuf {
    let plain = PathBuf::from("/usr/lib/rabbitmq/bin/rabbitmq-server");
    if plain.is_file() { plain } else { find_program("rabbitmq-server", "rabbitmq-server") }
}

fn spawn(folder: &TempDir, port: u16, [distribution, names]: [u16; 2]) -> ServerProcess {
    let at = |name: &str| folder.path().join(name);
    let pid_file = at("pid");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "rabbitmq"])
        .arg(program())
        .env("RABBITMQ_NODENAME", format!("fleet{port}@localhost"))
        .env("RABBITMQ_MNESIA_BASE", at("data"))
        .env("RABBITMQ_LOG_BASE", at("log"))
        .env("RABBITMQ_CONFIG_FILE", at("rabbitmq.conf"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", at("plugins"))
        .env("RABBITMQ_PID_FILE", &pid_file)
        .env("RABBITMQ_DIST_PORT", distribution.to_string())
        .env("ERL_EPMD_PORT", names.to_string())
        // One scheduler that does not spin: the services have the processors.
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}")
        .env("HOME", folder.path());
    ServerProcess::spawn(&command).with_pid_file(pid_file)
}
