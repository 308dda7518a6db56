//! One connection, and its channels: each has one message under way at most.
//!
//! A message that no queue takes is confirmed by the broker, behind a `basic.return`. lapin gives a returned message to whichever confirm of
//! the channel comes next, and with several messages under way on one channel that may be another's: the lost one would count as stored.
//! So whoever publishes borrows a channel for itself. Confirms are waited for on many channels at once instead.

use std::sync::{Mutex, PoisonError};

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{Channel, Connection};
use outbox_relay::{Confirmed, NotConfirmed, Outgoing};
use tokio::sync::{Notify, Semaphore};

use crate::answer::{confirmed, not_confirmed};
use crate::properties::properties;

pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) exchange: String,
    /// Channels that nobody borrows, all of whose messages were confirmed.
    idle: Mutex<Vec<Channel>>,
    /// How many may be borrowed.
    places: Semaphore,
    /// The exchange is not there any more: everything is to be looked at anew.
    pub(crate) stale: Notify,
}

impl Session {
    pub(crate) fn new(connection: Connection, exchange: String, channels: usize) -> Self {
        Self { connection, exchange, idle: Mutex::default(), places: Semaphore::new(channels), stale: Notify::new() }
    }

    /// Publishes one message and waits for its confirm.
    ///
    /// A channel whose confirm nobody waited for is not used again: when it is dropped, it is closed.
    pub(crate) async fn publish(&self, message: &Outgoing) -> Result<Confirmed, NotConfirmed> {
        let _place =
            self.places.acquire().await.map_err(|_| NotConfirmed::Unreachable("the session is over".into()))?;
        let channel = self.channel().await.map_err(|error| not_confirmed(&error))?;
        let sent = self.send(&channel, message).await;
        match sent {
            Ok(confirmation) => {
                // Its one message is answered.
                self.idle().push(channel);
                confirmed(confirmation, message)
            }
            // The broker closes a channel behind an error, and the client may not have seen it yet.
            Err(error) => Err(self.failed(&error)),
        }
    }

    async fn send(&self, channel: &Channel, message: &Outgoing) -> lapin::Result<lapin::Confirmation> {
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let (exchange, key) = (self.exchange.as_str().into(), message.route().into());
        channel.basic_publish(exchange, key, options, message.payload(), properties(message)).await?.await
    }

    async fn channel(&self) -> lapin::Result<Channel> {
        let idle = self.idle().pop();
        match idle {
            Some(channel) if channel.status().connected() => Ok(channel),
            _ => confirming(&self.connection).await,
        }
    }

    fn failed(&self, error: &lapin::Error) -> NotConfirmed {
        let answer = not_confirmed(error);
        if matches!(answer, NotConfirmed::Unreachable(_)) {
            self.stale.notify_one();
        }
        answer
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Channel>> {
        // No panic can leave it half written.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A channel on which the broker confirms.
async fn confirming(connection: &Connection) -> lapin::Result<Channel> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok(channel)
}
