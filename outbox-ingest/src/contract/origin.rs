//! How a server is started, stopped and published to.

use std::future::Future;
use std::net::SocketAddr;

use crate::source::Source;

/// A real server, as the contract uses it, with one queue or one stream of which its sources consume.
pub trait Origin: Sized + Send + Sync {
    /// What is tested.
    type Source: Source;

    /// A server of the test's own, ended when it is dropped, that may be killed and frozen.
    fn start() -> impl Future<Output = Self> + Send;

    /// Where it listens, also after it was started again.
    fn address(&self) -> SocketAddr;

    /// A source from this address, of the one queue or durable consumer: it may be that of a proxy, and nobody need be there yet. What a
    /// source held that has ended comes again within some seconds.
    fn source(&self, address: SocketAddr) -> impl Future<Output = Self::Source> + Send;

    /// Has the server store a message for the source, and waits until it has. The queue or stream is made if it is not there.
    fn publish(&self, message: &Published) -> impl Future<Output = ()> + Send;

    /// How many messages are there that nobody has acknowledged, in hand or not.
    fn left(&self) -> impl Future<Output = usize> + Send;

    /// `SIGKILL`. What it had stored is there when it is started again.
    fn kill(&mut self) -> impl Future<Output = ()> + Send;

    /// Starts it again.
    fn restart(&mut self) -> impl Future<Output = ()> + Send;

    /// `SIGSTOP`: connections stay open, and nothing is answered.
    fn freeze(&self);

    /// `SIGCONT`.
    fn thaw(&self);
}

/// A message as any producer may publish it.
#[derive(Debug, Clone)]
pub struct Published {
    /// Attributes of CloudEvents, to be written as the broker's binding says. That of the name `id` is the message's id for the broker too.
    pub attributes: Vec<(String, String)>,
    /// The header `traceparent`.
    pub traceparent: Option<String>,
    /// An attribute of this name with a value that is no UTF-8, or no text.
    pub odd: Option<String>,
    /// The body; its type is `application/json`.
    pub body: Vec<u8>,
}

impl Published {
    /// The attribute `id`.
    #[must_use]
    pub fn id(&self) -> &str {
        self.attributes.iter().find(|(name, _)| name == "id").map_or("", |(_, id)| id)
    }
}
