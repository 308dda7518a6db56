//! The exchange and its queues: declared, looked for, or somebody else's matter.

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection, ExchangeKind};

/// What is done at each connection, before anything is published.
#[derive(Debug, Clone, Default)]
pub(crate) struct Topology {
    pub(crate) exchange: String,
    pub(crate) mode: Mode,
}

#[derive(Debug, Clone, Default)]
pub(crate) enum Mode {
    #[default]
    Trust,
    Check,
    Declare(Vec<QuorumQueue>),
}

/// A queue that lives on a majority of the nodes, and what it takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct QuorumQueue {
    pub(crate) name: String,
    pub(crate) patterns: Vec<String>,
    /// Beside its type.
    pub(crate) arguments: FieldTable,
}

impl Topology {
    /// Sees to it, on a channel of its own: the broker closes it on the first objection.
    pub(crate) async fn ensure(&self, connection: &Connection) -> lapin::Result<()> {
        let queues = match &self.mode {
            Mode::Trust => return Ok(()),
            Mode::Check => &[][..],
            Mode::Declare(queues) => queues,
        };
        let channel = connection.create_channel().await?;
        let passive = matches!(self.mode, Mode::Check);
        let options = ExchangeDeclareOptions { durable: true, passive, ..ExchangeDeclareOptions::default() };
        let exchange = self.exchange.as_str().into();
        channel.exchange_declare(exchange, ExchangeKind::Topic, options, FieldTable::default()).await?;
        for queue in queues {
            queue.declare(&channel).await?;
            queue.bind(&channel, &self.exchange).await?;
        }
        channel.close(200, "declared".into()).await
    }
}

impl QuorumQueue {
    /// Makes it when it is not there.
    pub(crate) async fn declare(&self, channel: &Channel) -> lapin::Result<()> {
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let mut arguments = self.arguments.clone();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        channel.queue_declare(self.name.as_str().into(), options, arguments).await.map(drop)
    }

    /// Has it take what its patterns mean.
    pub(crate) async fn bind(&self, channel: &Channel, exchange: &str) -> lapin::Result<()> {
        for pattern in &self.patterns {
            let (name, exchange, pattern) = (self.name.as_str().into(), exchange.into(), pattern.as_str().into());
            channel.queue_bind(name, exchange, pattern, QueueBindOptions::default(), FieldTable::default()).await?;
        }
        Ok(())
    }
}
