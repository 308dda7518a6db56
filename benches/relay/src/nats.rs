//! NATS JetStream: a stream on disk.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use outbox_nats::Nats;
use outbox_nats::async_nats::jetstream::context::{Context, ContextBuilder};
use outbox_nats::async_nats::jetstream::message::PublishMessage;
use outbox_nats::async_nats::jetstream::stream::Config;
use outbox_nats::async_nats::{self, HeaderMap};
use outbox_relay::contract::{NatsServer, PATIENCE};

use crate::messages::{Message, ROUTE, WINDOW};
use crate::side::{Side, Way};

const STREAM: &str = "BENCH";

pub(crate) struct NatsSide(NatsServer);

impl NatsSide {
    pub(crate) async fn start() -> Self {
        Self(NatsServer::start(&[]).await)
    }

    fn url(&self) -> String {
        format!("nats://{}", self.0.address())
    }

    async fn context(&self) -> anyhow::Result<Context> {
        let client = async_nats::connect(self.url()).await?;
        Ok(ContextBuilder::new().ack_timeout(Duration::from_mins(1)).max_ack_inflight(100_000).build(client))
    }
}

fn config() -> Config {
    Config { name: STREAM.to_owned(), subjects: vec!["bench.>".to_owned()], ..Config::default() }
}

fn prepared(message: Message) -> anyhow::Result<PublishMessage> {
    let mut headers = HeaderMap::new();
    for (name, value) in &message.attributes {
        headers.insert(format!("ce-{name}"), value.parse::<async_nats::HeaderValue>()?);
    }
    headers.insert("ce-datacontenttype", "application/json");
    headers.insert("content-type", "application/json");
    Ok(PublishMessage::build().payload(message.payload.into()).headers(headers).message_id(message.id))
}

impl Side for NatsSide {
    fn broker(&self) -> &'static str {
        "nats"
    }

    async fn renew(&self) -> anyhow::Result<()> {
        let context = self.context().await?;
        // It may not be there yet.
        let _ = context.delete_stream(STREAM).await;
        context.create_stream(config()).await?;
        Ok(())
    }

    async fn publish_from_memory(&self, messages: Vec<Message>) -> anyhow::Result<f64> {
        let context = self.context().await?;
        let prepared = messages.into_iter().map(prepared).collect::<anyhow::Result<Vec<_>>>()?;
        let began = Instant::now();
        stream::iter(prepared)
            .map(async |message| anyhow::Ok(context.send_publish(ROUTE, message).await?.await.map(drop)?))
            .buffer_unordered(WINDOW)
            .try_collect::<()>()
            .await?;
        Ok(began.elapsed().as_secs_f64())
    }

    async fn transport(&self) -> anyhow::Result<Way> {
        let nats = Nats::builder(self.url()).check(STREAM).connect().await?;
        nats.ready(PATIENCE).await.map_err(|status| anyhow::anyhow!("NATS: {status:?}"))?;
        Ok(Way::Nats(nats))
    }

    async fn until_stored(&self, count: u32) -> anyhow::Result<()> {
        let context = self.context().await?;
        let stored = context.get_stream(STREAM).await?.info().await?.state.messages;
        anyhow::ensure!(stored == u64::from(count), "{stored} messages are stored, and {count} were published");
        Ok(())
    }
}
