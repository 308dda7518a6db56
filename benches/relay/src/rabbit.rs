//! RabbitMQ: a quorum queue.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use outbox_amqp::Amqp;
use outbox_amqp::lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
    QueueDeleteOptions,
};
use outbox_amqp::lapin::types::{AMQPValue, FieldTable};
use outbox_amqp::lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, ExchangeKind};
use outbox_relay::contract::{PATIENCE, RabbitServer};
use tokio::time::{sleep, timeout};

use crate::messages::{Message, ROUTE, WINDOW};
use crate::side::{Side, Way};

const EXCHANGE: &str = "bench";
const QUEUE: &str = "bench";

pub(crate) struct RabbitSide(RabbitServer);

impl RabbitSide {
    pub(crate) async fn start() -> Self {
        Self(RabbitServer::unbounded().await)
    }

    /// With the connection, which ends when it is dropped.
    async fn channel(&self) -> anyhow::Result<(Connection, Channel)> {
        let connection = Connection::connect(&self.0.url(), ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        Ok((connection, channel))
    }
}

fn properties(message: &Message) -> BasicProperties {
    let mut headers = FieldTable::default();
    for (name, value) in &message.attributes {
        headers.insert(format!("cloudEvents:{name}").into(), AMQPValue::LongString(value.as_str().into()));
    }
    BasicProperties::default()
        .with_message_id(message.id.as_str().into())
        .with_content_type("application/json".into())
        .with_delivery_mode(2)
        .with_headers(headers)
}

impl Side for RabbitSide {
    fn broker(&self) -> &'static str {
        "rabbitmq"
    }

    async fn renew(&self) -> anyhow::Result<()> {
        let (_connection, channel) = self.channel().await?;
        channel.queue_delete(QUEUE.into(), QueueDeleteOptions::default()).await?;
        let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        channel.exchange_declare(EXCHANGE.into(), ExchangeKind::Topic, durable, FieldTable::default()).await?;
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(QUEUE.into(), durable, arguments).await?;
        let (queue, exchange, options) = (QUEUE.into(), EXCHANGE.into(), QueueBindOptions::default());
        channel.queue_bind(queue, exchange, "bench.#".into(), options, FieldTable::default()).await?;
        Ok(channel.close(200, "made".into()).await?)
    }

    async fn publish_from_memory(&self, messages: Vec<Message>) -> anyhow::Result<f64> {
        let (_connection, channel) = self.channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let prepared: Vec<_> = messages.into_iter().map(|message| (properties(&message), message.payload)).collect();
        let began = Instant::now();
        stream::iter(prepared)
            .map(async |(properties, payload)| {
                let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
                let publish = channel.basic_publish(EXCHANGE.into(), ROUTE.into(), options, &payload, properties);
                let confirm = publish.await?.await?;
                anyhow::ensure!(confirm == Confirmation::Ack(None), "not confirmed: {confirm:?}");
                Ok(())
            })
            .buffer_unordered(WINDOW)
            .try_collect::<()>()
            .await?;
        Ok(began.elapsed().as_secs_f64())
    }

    async fn transport(&self) -> anyhow::Result<Way> {
        let amqp = Amqp::builder(self.0.url(), EXCHANGE).check().connect()?;
        amqp.ready(PATIENCE).await.map_err(|status| anyhow::anyhow!("RabbitMQ: {status:?}"))?;
        Ok(Way::Rabbit(amqp))
    }

    async fn until_stored(&self, count: u32) -> anyhow::Result<()> {
        let (_connection, channel) = self.channel().await?;
        let passive = || QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let mut stored = 0;
        // Its figure comes a moment behind what it holds.
        let counted = async {
            while stored != count {
                sleep(Duration::from_millis(20)).await;
                stored = channel.queue_declare(QUEUE.into(), passive(), FieldTable::default()).await?.message_count();
            }
            anyhow::Ok(())
        };
        let counted = timeout(Duration::from_secs(30), counted).await;
        counted.with_context(|| format!("{stored} messages are stored, and {count} were published"))?
    }
}
