//! A RabbitMQ node takes seconds to start, so tests share two: one that nobody disturbs, and one that belongs to one test at a time, which may
//! kill and freeze it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use outbox_amqp::lapin::{Connection, ConnectionProperties};
use outbox_relay::contract::{PATIENCE, RabbitServer};
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};

/// What the node takes in one message.
pub const MAX_MESSAGE: usize = 1 << 20;

static QUIET: OnceCell<Node> = OnceCell::const_new();
static DISTURBED: OnceCell<Arc<Mutex<Node>>> = OnceCell::const_new();

pub struct Node(pub RabbitServer);

impl Node {
    /// One that nobody disturbs.
    pub async fn quiet() -> &'static Self {
        QUIET.get_or_init(Self::start).await
    }

    /// One of the test's own until it drops it, as it was left.
    pub async fn disturbed() -> OwnedMutexGuard<Self> {
        let node = DISTURBED.get_or_init(async || Arc::new(Mutex::new(Self::start().await))).await;
        let mut node = Arc::clone(node).lock_owned().await;
        // A test that failed may have left it frozen, or killed.
        if node.0.process().has_ended() {
            node.restart().await;
        } else {
            node.0.process().thaw();
        }
        node
    }

    async fn start() -> Self {
        let node = Self(RabbitServer::start(&format!("max_message_size = {MAX_MESSAGE}")).await);
        node.answers().await;
        node
    }

    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// As any client sees it.
    pub async fn connection(&self) -> Connection {
        Connection::connect(&self.0.url(), ConnectionProperties::default()).await.unwrap()
    }

    pub async fn restart(&mut self) {
        self.0.restart().await;
        self.answers().await;
    }

    async fn answers(&self) {
        let answering = async {
            while Connection::connect(&self.0.url(), ConnectionProperties::default()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answering).await.expect("RabbitMQ answers");
    }
}

pub fn url(address: SocketAddr) -> String {
    format!("amqp://guest:guest@{address}/%2f")
}
