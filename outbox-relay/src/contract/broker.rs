//! How a server is started, stopped and read back.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;

use crate::transport::Transport;

/// A real server, as the contract uses it. It takes what is published below [`PREFIX`](super::PREFIX), and nothing else.
pub trait Broker: Sized + Send + Sync {
    /// What is tested.
    type Transport: Transport;

    /// Whether a message that comes again under its id soon is stored once.
    const DEDUPLICATES: bool;

    /// A server of the test's own, ended when it is dropped, that may be killed and frozen.
    fn start() -> impl Future<Output = Self> + Send;

    /// A server that other tests may share, on which nobody else sees this one's messages.
    #[must_use]
    fn shared() -> impl Future<Output = Self> + Send {
        Self::start()
    }

    /// Where it listens, also after it was started again.
    fn address(&self) -> SocketAddr;

    /// A transport to this address, by the server's protocol: it may be that of a proxy, and nobody need be there yet.
    fn transport(&self, address: SocketAddr) -> impl Future<Output = Self::Transport> + Send;

    /// More bytes than the server takes in one message.
    fn too_large(&self) -> usize;

    /// From now on, what is published below [`ELSEWHERE`](super::ELSEWHERE) is taken too.
    fn take_elsewhere(&self) -> impl Future<Output = ()> + Send;

    /// All messages that it holds, in its order.
    fn stored(&self) -> impl Future<Output = Vec<Stored>> + Send;

    /// `SIGKILL`. What it had stored is there when it is started again.
    fn kill(&mut self) -> impl Future<Output = ()> + Send;

    /// Starts it again.
    fn restart(&mut self) -> impl Future<Output = ()> + Send;

    /// `SIGSTOP`: connections stay open, and nothing is answered.
    fn freeze(&self);

    /// `SIGCONT`.
    fn thaw(&self);
}

/// One message as a consumer reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The message's id, as the broker knows it.
    pub id: String,
    /// Subject or routing key.
    pub route: String,
    /// CloudEvents attributes by name, decoded; without `datacontenttype`.
    pub attributes: BTreeMap<String, String>,
    /// `datacontenttype`.
    pub content_type: String,
    /// The header `traceparent`.
    pub traceparent: Option<String>,
    /// The payload.
    pub payload: Vec<u8>,
}
