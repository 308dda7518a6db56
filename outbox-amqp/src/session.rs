//! One connection and its channels: on each a group of messages at a time is published.
//!
//! A message that comes while a channel is free goes at once. While none is, messages wait, and the next channel that is free takes all that
//! do: the busier, the larger the groups, and the fewer the confirms, because the broker confirms many at once. Why groups do not
//! overlap on a channel: see [`tally`](crate::tally).

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use lapin::options::ConfirmSelectOptions;
use lapin::types::ShortString;
use lapin::{Channel, Connection, ErrorKind};
use outbox_relay::{Confirmed, NotConfirmed, Outgoing};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

use crate::answer::not_confirmed;
use crate::group::{Group, Spoilt};
use crate::queue::{Queue, Waiting, queue};
use crate::tally::Answer;

/// Channels with a group under way, as long as the broker confirms soon.
const USUAL_CHANNELS: usize = 8;
/// How soon. A group that takes longer, because a queue of one of its messages is slow, lets another one go beside it.
const SOON: Duration = Duration::from_millis(100);

pub(crate) struct Session {
    pub(crate) connection: Connection,
    exchange: ShortString,
    waiting: mpsc::Sender<Waiting>,
    /// Most channels with a group under way, however long they take.
    channels: usize,
    /// Channels that no group uses, all of whose messages were confirmed.
    idle: Mutex<Vec<Channel>>,
    /// The exchange is not there any more: everything is to be looked at anew.
    pub(crate) stale: Notify,
}

impl Session {
    /// With the queue that it is to [`serve`](Self::serve).
    pub(crate) fn new(connection: Connection, exchange: &str, channels: usize) -> (Self, Queue) {
        let (waiting, queue) = queue();
        let (idle, stale) = (Mutex::default(), Notify::new());
        // What broker and URL allow, but for the connection's own and one that is on its way to its end.
        let allowed = usize::from(connection.configuration().channel_max()).saturating_sub(2);
        let channels = channels.min(allowed).max(1);
        (Self { connection, exchange: exchange.into(), waiting, channels, idle, stale }, queue)
    }

    /// Has one message published on the next free channel, and waits for its answer; `None` when the session is over.
    ///
    /// # Cancel safety
    /// Not sent any more, unless it was already.
    pub(crate) async fn publish(&self, message: &Outgoing) -> Option<Result<Confirmed, NotConfirmed>> {
        let answer = match self.ask(message, false).await? {
            // Others went with it, and may not have been to blame.
            Answer::Again => self.ask(message, true).await?,
            answer => answer,
        };
        Some(match answer {
            Answer::Stored => Ok(Confirmed::new()),
            Answer::Returned(reason) => Err(NotConfirmed::Unroutable { route: message.route().to_owned(), reason }),
            Answer::Not(why) => Err(why),
            Answer::Again => Err(NotConfirmed::Unreachable("it was not sent".to_owned())),
        })
    }

    async fn ask(&self, message: &Outgoing, alone: bool) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        self.waiting.send(Waiting::new(message, alone, answer)).await.ok()?;
        answered.await.ok()
    }

    /// Publishes what waits. Does not end by itself: dropped, it has ended every group under way, and who waits still is told that the
    /// session is over.
    pub(crate) async fn serve(&self, mut queue: Queue) {
        let places = Semaphore::new(USUAL_CHANNELS.min(self.channels));
        let mut under_way = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(()) = under_way.next() => {}
                (place, group) = next(&places, &mut queue), if under_way.len() < self.channels => {
                    under_way.push(self.on_a_channel(place, group));
                }
            }
        }
    }

    /// Holds its place for as long as it is quick.
    async fn on_a_channel(&self, place: Option<SemaphorePermit<'_>>, group: Vec<Waiting>) {
        let mut publishing = pin!(self.publish_group(group));
        if timeout(SOON, publishing.as_mut()).await.is_err() {
            drop(place);
            publishing.await;
        }
    }

    async fn publish_group(&self, mut messages: Vec<Waiting>) {
        let channel = match self.channel().await {
            Ok(channel) => channel,
            Err(error) => {
                let why = not_confirmed(&error);
                // Of channels that have not ended yet, another connection would have no fewer, and lose what is under way on this one.
                let is_of_the_limit = matches!(error.kind(), ErrorKind::ChannelsLimitReached);
                if matches!(why, NotConfirmed::Unreachable(_)) && !is_of_the_limit {
                    self.stale.notify_one();
                }
                for message in messages {
                    let _ = message.answer.send(Answer::Not(why.clone()));
                }
                return;
            }
        };
        // Opening it may have taken a while.
        messages.retain(|message| !message.is_forsaken());
        match Group::new(&channel, &self.exchange, messages).publish().await {
            Ok(()) => self.idle().push(channel),
            Err(Spoilt::Stale) => self.stale.notify_one(),
            // Dropped, it is closed.
            Err(Spoilt::ByMessage | Spoilt::Owing) => {}
        }
    }

    async fn channel(&self) -> lapin::Result<Channel> {
        let idle = self.idle().pop();
        match idle {
            Some(channel) if channel.status().connected() => Ok(channel),
            _ => confirming(&self.connection).await,
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Channel>> {
        // No panic can leave it half written.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a free place first, so that what comes meanwhile goes together.
async fn next<'p>(places: &'p Semaphore, queue: &mut Queue) -> (Option<SemaphorePermit<'p>>, Vec<Waiting>) {
    // It is never closed.
    let place = places.acquire().await.ok();
    (place, queue.group().await)
}

/// A channel on which the broker confirms.
async fn confirming(connection: &Connection) -> lapin::Result<Channel> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok(channel)
}
