//! Messages that no relay has sent.

use outbox_amqp::lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use outbox_amqp::lapin::types::{AMQPValue, FieldTable};
use outbox_amqp::lapin::{BasicProperties, Connection, ConnectionProperties};
use outbox_nats::async_nats::{self, HeaderMap, jetstream};

/// A message that no relay has sent.
#[derive(Debug)]
pub(crate) struct ByHand<'a> {
    /// Subject or routing key.
    pub(crate) route: &'a str,
    /// Attributes of CloudEvents.
    pub(crate) attributes: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

impl ByHand<'_> {
    pub(super) async fn to_nats(&self, url: &str) -> anyhow::Result<()> {
        let jetstream = jetstream::new(async_nats::connect(url).await?);
        let mut headers = HeaderMap::new();
        for (name, value) in self.attributes {
            headers.insert(format!("ce-{name}"), *value);
        }
        let (route, body) = (self.route.to_owned(), self.body.to_vec());
        jetstream.publish_with_headers(route, headers, body.into()).await?.await?;
        Ok(())
    }

    pub(super) async fn to_rabbitmq(&self, url: &str) -> anyhow::Result<()> {
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let mut headers = FieldTable::default();
        for (name, value) in self.attributes {
            headers.insert(format!("cloudEvents:{name}").into(), AMQPValue::LongString((*value).into()));
        }
        let properties = BasicProperties::default().with_headers(headers).with_delivery_mode(2);
        let (exchange, route) = (platform::PREFIX.into(), self.route.into());
        let options = BasicPublishOptions::default();
        channel.basic_publish(exchange, route, options, self.body, properties).await?.await?;
        connection.close(200, "put".into()).await?;
        Ok(())
    }
}
