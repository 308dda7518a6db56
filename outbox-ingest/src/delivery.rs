//! One message as a broker delivered it, undecoded, with the right to acknowledge it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use outbox::BoxError;

/// How a source tells its broker what became of one message. Made by a [`Source`](crate::Source), used by the ingest alone.
pub trait Acknowledge: Send + Sized + 'static {
    /// The message is stored, and the broker may forget it. Returns when the broker knows, where its protocol can tell; an error, or a future
    /// that is dropped, means that the message may come again, which is harmless.
    ///
    /// # Errors
    /// When the broker could not be told. The text holds no payload and no credentials.
    fn acknowledge(self) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// The message could not be stored, through no fault of its own, and is to be delivered again, here or elsewhere.
    ///
    /// # Errors
    /// As for [`acknowledge`](Self::acknowledge).
    fn give_back(self) -> impl Future<Output = Result<(), BoxError>> + Send;
}

/// One message as it came: CloudEvents attributes and other headers, undecoded, and a body.
///
/// Nobody but an ingest can acknowledge it, and that does so behind the commit that stored it. Dropped without a word, it is the broker's to
/// deliver again.
pub struct Delivery {
    pub(crate) message: Message,
    pub(crate) acknowledgement: Acknowledgement,
}

/// What came, without the right to acknowledge it.
#[derive(Clone, Default)]
pub(crate) struct Message {
    pub(crate) broker_id: Option<String>,
    pub(crate) route: String,
    pub(crate) content_type: Option<String>,
    /// By name, `type` for CloudEvents' `ce-type`, in the order in which they came.
    pub(crate) attributes: Vec<(String, Value)>,
    /// Headers that are no attributes.
    pub(crate) headers: Vec<(String, Value)>,
    pub(crate) body: Bytes,
    pub(crate) is_redelivered: bool,
}

/// The value of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Text.
    Text(String),
    /// Bytes that are no UTF-8 or hold a NUL, or a value of the broker's protocol that is no text. What it holds is not kept.
    Undecodable,
}

impl Delivery {
    /// A message with this body.
    #[must_use]
    pub fn new(body: impl Into<Bytes>, acknowledgement: impl Acknowledge) -> Self {
        let message = Message { body: body.into(), ..Message::default() };
        Self { message, acknowledgement: Acknowledgement(Box::new(acknowledgement)) }
    }

    /// The message's id as the broker knows it (`Nats-Msg-Id`, AMQP's `message-id`), for messages that say none by CloudEvents.
    #[must_use]
    pub fn message_id(mut self, id: impl Into<String>) -> Self {
        self.message.broker_id = Some(id.into());
        self
    }

    /// Subject or routing key.
    #[must_use]
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.message.route = route.into();
        self
    }

    /// The type of the body, `datacontenttype`.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.message.content_type = Some(content_type.into());
        self
    }

    /// A context attribute of CloudEvents by its own name, `type` for what the binding calls `ce-type`: its bytes, freed of the binding's
    /// escapes. Bytes that are no UTF-8 are kept as undecodable.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.message.attributes.push((name.into(), Value::of(value.into())));
        self
    }

    /// An attribute that was there with a value that is no text in the broker's protocol: a table, a list.
    #[must_use]
    pub fn undecodable_attribute(mut self, name: impl Into<String>) -> Self {
        self.message.attributes.push((name.into(), Value::Undecodable));
        self
    }

    /// A header that is no attribute of CloudEvents: `traceparent`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.message.headers.push((name.into(), Value::of(value.into())));
        self
    }

    /// Whether the broker says that it has delivered it before.
    #[must_use]
    pub fn redelivered(mut self, is_redelivered: bool) -> Self {
        self.message.is_redelivered = is_redelivered;
        self
    }
}

impl Value {
    fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Self::Text(text),
            _ => Self::Undecodable,
        }
    }
}

/// Without values and without the body.
impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

/// Shows which attributes there are, and of the body the size only.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.attributes.iter().map(|(name, _)| name.as_str()).collect();
        write!(f, "Delivery({} with {names:?}, {} bytes)", self.route, self.body.len())
    }
}

/// The right to say what became of a message. Whoever holds it is behind the commit.
pub(crate) struct Acknowledgement(Box<dyn Erased>);

type Said = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

impl Acknowledgement {
    pub(crate) async fn acknowledge(self) -> Result<(), BoxError> {
        self.0.acknowledge().await
    }

    pub(crate) async fn give_back(self) -> Result<(), BoxError> {
        self.0.give_back().await
    }
}

trait Erased: Send {
    fn acknowledge(self: Box<Self>) -> Said;
    fn give_back(self: Box<Self>) -> Said;
}

impl<A: Acknowledge> Erased for A {
    fn acknowledge(self: Box<Self>) -> Said {
        Box::pin(A::acknowledge(*self))
    }

    fn give_back(self: Box<Self>) -> Said {
        Box::pin(A::give_back(*self))
    }
}
