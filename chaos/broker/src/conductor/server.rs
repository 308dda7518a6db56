//! The broker, with a network before it for each service.

use std::time::Duration;

use outbox_relay::contract::{NatsServer, Proxy, RabbitServer, ServerProcess};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::plan::{Service, Weather};
use crate::ways::Broker;

/// The server. Faults of it come one at a time.
pub(super) struct BrokerServer {
    pub(super) kind: Broker,
    server: Mutex<Server>,
    sender: Proxy,
    receiver: Proxy,
}

enum Server {
    Nats(NatsServer),
    Rabbitmq(RabbitServer),
}

impl BrokerServer {
    pub(super) async fn start(kind: Broker) -> Self {
        let server = match kind {
            Broker::Nats => Server::Nats(NatsServer::start(&[]).await),
            Broker::Rabbitmq => Server::Rabbitmq(RabbitServer::start("").await),
        };
        let address = match &server {
            Server::Nats(server) => server.address(),
            Server::Rabbitmq(server) => server.address(),
        };
        Self { kind, server: Mutex::new(server), sender: Proxy::to(address).await, receiver: Proxy::to(address).await }
    }

    pub(super) fn network(&self, service: Service) -> &Proxy {
        match service {
            Service::Sender => &self.sender,
            Service::Receiver => &self.receiver,
        }
    }

    pub(super) async fn stops(&self, lasts: Duration) {
        let mut server = self.server.lock().await;
        match &mut *server {
            Server::Nats(server) => server.stop().await,
            Server::Rabbitmq(server) => server.stop().await,
        }
        sleep(lasts).await;
        server.restart().await;
    }

    pub(super) async fn dies(&self, lasts: Duration) {
        let mut server = self.server.lock().await;
        match &mut *server {
            Server::Nats(server) => server.kill(),
            Server::Rabbitmq(server) => server.kill().await,
        }
        sleep(lasts).await;
        server.restart().await;
    }

    pub(super) async fn freezes(&self, lasts: Duration) {
        let server = self.server.lock().await;
        server.process().freeze();
        sleep(lasts).await;
        server.process().thaw();
    }

    pub(super) async fn disturb(&self, service: Service, what: Weather, lasts: Duration) {
        let network = self.network(service);
        match what {
            Weather::Cut => network.cut(),
            Weather::Silence => {
                network.silence(true);
                sleep(lasts).await;
                network.silence(false);
            }
            Weather::LostAnswers => {
                network.swallow_answers(true);
                sleep(lasts).await;
                // A stream with a hole in it is none.
                network.cut();
                network.swallow_answers(false);
            }
        }
    }

    /// The server is there, and the networks are good.
    pub(super) async fn heal(&self) {
        let mut server = self.server.lock().await;
        if server.process().has_ended() {
            server.restart().await;
        } else {
            server.process().thaw();
        }
        for network in [&self.sender, &self.receiver] {
            network.silence(false);
            network.swallow_answers(false);
            network.cut();
        }
    }
}

impl Server {
    fn process(&self) -> &ServerProcess {
        match self {
            Self::Nats(server) => server.process(),
            Self::Rabbitmq(server) => server.process(),
        }
    }

    async fn restart(&mut self) {
        match self {
            Self::Nats(server) => server.restart().await,
            Self::Rabbitmq(server) => server.restart().await,
        }
    }
}
