//! The consumer's ups and downs, measured. It is up while the broker delivers to it: a connection without a consumer is not.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lapin::options::{BasicConsumeOptions, BasicQosOptions, ExchangeDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, Consumer, ErrorKind, ExchangeKind};
use outbox_relay::{Link, what_to_do_about_certificates};
use tokio::time::{sleep, timeout};

use crate::dial::{Dial, LIMIT};
use crate::pause::Pause;
use crate::source::Inbox;
use crate::topology::QuorumQueue;

/// How often a connection that says nothing is looked at.
const GLANCE: Duration = Duration::from_secs(1);

/// What is needed to consume.
pub(crate) struct Consuming {
    pub(crate) name: String,
    pub(crate) dial: Dial,
    pub(crate) queue: QuorumQueue,
    /// The one that its patterns are of.
    pub(crate) exchange: Option<String>,
    pub(crate) declares: bool,
    pub(crate) prefetch: u16,
}

/// Consumes, again and again, until it is aborted. Whatever ends the consumer ends its connection too, so that there is one way back from
/// everything: the broker takes back what was not acknowledged, and an acknowledgement of the past reaches nobody.
pub(crate) async fn consume(consuming: Consuming, link: Link, inbox: Arc<Inbox>) {
    let mut pause = Pause::new();
    // Whether a message has come that the client cannot read: it comes again, and all that stand behind it.
    let mut legibly = false;
    loop {
        let (why, stood) = match timeout(LIMIT, consuming.open(legibly)).await {
            Ok(Ok(session)) => {
                pause.connected();
                link.connected();
                tracing::info!(source = consuming.name, "consuming");
                let end = session.run(&inbox).await;
                inbox.clear();
                legibly |= end.is_illegible();
                (end.to_string(), true)
            }
            Ok(Err(error)) => {
                // It may come right behind the consumer.
                legibly |= is_illegible(&error);
                (what_to_do_about_certificates(error.to_string()), false)
            }
            Err(_) => (format!("no consumer within {LIMIT:?}"), false),
        };
        tracing::warn!(source = consuming.name, why, "nothing is consumed");
        link.disconnected(why);
        sleep(pause.next(stood)).await;
    }
}

/// Why nothing comes any more.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("{0}")]
    Failed(lapin::Error),
    /// The word for it is `basic.cancel`, which closes neither channel nor connection.
    #[error("the broker has cancelled the consumer: is its queue still there?")]
    Cancelled,
    #[error("the connection is lost")]
    Lost,
}

impl End {
    fn is_illegible(&self) -> bool {
        matches!(self, Self::Failed(error) if is_illegible(error))
    }
}

fn is_illegible(error: &lapin::Error) -> bool {
    matches!(error.kind(), ErrorKind::ParsingError(_))
}

struct Session {
    connection: Connection,
    channel: Channel,
    consumer: Consumer,
}

impl Consuming {
    async fn open(&self, legibly: bool) -> lapin::Result<Session> {
        let connection = if legibly { self.dial.connect_legibly().await? } else { self.dial.connect().await? };
        if self.declares {
            self.declare(&connection).await?;
        }
        let channel = connection.create_channel().await?;
        channel.basic_qos(self.prefetch, BasicQosOptions::default()).await?;
        let (queue, options) = (self.queue.name.as_str().into(), BasicConsumeOptions::default());
        let consumer = channel.basic_consume(queue, "".into(), options, FieldTable::default()).await?;
        Ok(Session { connection, channel, consumer })
    }

    /// On a channel of its own: the broker closes it on the first objection.
    async fn declare(&self, connection: &Connection) -> lapin::Result<()> {
        let channel = connection.create_channel().await?;
        self.queue.declare(&channel).await?;
        if let Some(exchange) = &self.exchange {
            let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
            let (name, kind) = (exchange.as_str().into(), ExchangeKind::Topic);
            channel.exchange_declare(name, kind, options, FieldTable::default()).await?;
            self.queue.bind(&channel, exchange).await?;
        }
        channel.close(200, "declared".into()).await
    }
}

impl Session {
    /// Takes in what comes until nothing can come any more; why.
    async fn run(mut self, inbox: &Inbox) -> End {
        loop {
            tokio::select! {
                delivery = self.consumer.next() => match delivery {
                    Some(Ok(delivery)) => inbox.put(delivery),
                    Some(Err(error)) => return End::Failed(error),
                    None => return End::Cancelled,
                },
                () = sleep(GLANCE) => {
                    if !self.connection.status().connected() || !self.channel.status().connected() {
                        return End::Lost;
                    }
                }
            }
        }
    }
}
