//! A message of JetStream as a delivery, and its acknowledgement.

use async_nats::jetstream::Message;
use async_nats::{Client, HeaderMap, Subject};
use outbox::BoxError;
use outbox_ingest::{Acknowledge, Delivery};
use outbox_relay::Link;
use percent_encoding::percent_decode_str;

/// What the [binding](https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/nats-protocol-binding.md) puts in front of attributes.
const PREFIX: &str = "ce-";

pub(super) fn delivery(message: Message, client: Client, link: Link) -> Delivery {
    let is_redelivered = message.info().is_ok_and(|info| info.delivered > 1);
    let message = message.message;
    let acknowledgement = Acknowledgement { client, link, reply: message.reply.clone() };
    let delivery =
        Delivery::new(message.payload, acknowledgement).route(message.subject.to_string()).redelivered(is_redelivered);
    match &message.headers {
        Some(headers) => with_headers(delivery, headers),
        None => delivery,
    }
}

fn with_headers(mut delivery: Delivery, headers: &HeaderMap) -> Delivery {
    for (name, values) in headers.iter() {
        let Some(value) = values.first() else { continue };
        let (name, value) = (name.to_string().to_ascii_lowercase(), value.as_str());
        delivery = match name.strip_prefix(PREFIX) {
            // Said twice by our own relay, and by other producers once or twice.
            Some("datacontenttype") => delivery.content_type(text(value)),
            Some(attribute) => delivery.attribute(attribute, bytes(value)),
            None => match name.as_str() {
                "content-type" => delivery.content_type(text(value)),
                "nats-msg-id" => delivery.message_id(value),
                _ => delivery.header(name, bytes(value)),
            },
        };
    }
    delivery
}

fn bytes(value: &str) -> Vec<u8> {
    percent_decode_str(value).collect()
}

fn text(value: &str) -> String {
    percent_decode_str(value).decode_utf8_lossy().into_owned()
}

struct Acknowledgement {
    client: Client,
    link: Link,
    reply: Option<Subject>,
}

impl Acknowledge for Acknowledgement {
    /// With an answer of the server's own, so that one that was lost on the way is known of.
    async fn acknowledge(self) -> Result<(), BoxError> {
        let Some(reply) = self.reply else { return Err("the message has no subject for its acknowledgement".into()) };
        // What is given to the client while it is away would be sent when it is back: late, and harmless; and nobody is to wait for it.
        tokio::select! {
            biased;
            () = self.link.down() => Err("the connection is lost".into()),
            answer = self.client.request(reply, "+ACK".into()) => match answer {
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string().into()),
            },
        }
    }

    async fn give_back(self) -> Result<(), BoxError> {
        let Some(reply) = self.reply else { return Ok(()) };
        tokio::select! {
            biased;
            () = self.link.down() => Err("the connection is lost".into()),
            said = self.client.publish(reply, "-NAK".into()) => said.map_err(|error| error.to_string().into()),
        }
    }
}
