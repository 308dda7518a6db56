//! **publish**, a group of messages on a channel of its own: all of them at once, and then their confirms.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{Channel, Confirmation, PublisherConfirm};
use outbox_relay::NotConfirmed;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::answer::not_confirmed;
use crate::queue::Waiting;
use crate::tally::{Answer, Tally};

/// How often is looked whether anybody waits still.
const GLANCE: Duration = Duration::from_millis(100);

/// Messages that are on their way on one channel, which has no others.
pub(crate) struct Group<'c> {
    tally: Tally,
    steps: Vec<Step<'c>>,
    /// Who waits.
    answers: Vec<Option<oneshot::Sender<Answer>>>,
}

/// How far a message is.
enum Step<'c> {
    /// The client has not written it to the socket yet.
    Sending(BoxFuture<'c, lapin::Result<PublisherConfirm>>),
    Sent(PublisherConfirm),
    /// Its confirm came, or an error did.
    Ended,
}

impl<'c> Group<'c> {
    pub(crate) fn new(channel: &'c Channel, exchange: &ShortString, messages: Vec<Waiting>) -> Self {
        let tally = Tally::new(messages.iter().map(|message| message.id));
        let (mut steps, mut answers) = (Vec::new(), Vec::new());
        for message in messages {
            let Waiting { route, properties, payload, answer, .. } = message;
            let exchange = exchange.clone();
            let sending = async move {
                let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
                channel.basic_publish(exchange, route, options, &payload, properties).await
            };
            steps.push(Step::Sending(sending.boxed()));
            answers.push(Some(answer));
        }
        Self { tally, steps, answers }
    }

    /// Publishes them, and tells of each as soon as it is known what the broker said of it. Ends with the last confirm, with an error, or when nobody
    /// waits any more.
    ///
    /// # Errors
    /// When the channel is not to be used again: it has ended, or owes a confirm.
    pub(crate) async fn publish(mut self) -> Result<(), Spoilt> {
        while timeout(GLANCE, poll_fn(|cx| self.poll(cx))).await.is_err() {
            if self.is_forsaken() {
                return Err(Spoilt::Owing);
            }
        }
        match self.tally.why_broken() {
            None => Ok(()),
            Some(NotConfirmed::Unreachable(_)) => Err(Spoilt::Stale),
            Some(_) => Err(Spoilt::ByMessage),
        }
    }

    /// Nobody waits. A message that is not written yet cannot be taken back, and on a channel that is closed before, it would cost the
    /// connection: then there is still to be waited.
    fn is_forsaken(&self) -> bool {
        self.answers.iter().flatten().all(oneshot::Sender::is_closed)
            && !self.steps.iter().any(|step| matches!(step, Step::Sending(_)))
    }

    /// Tells what is known when a look at all of them has shown nothing new: a confirm that came without a returned message says that every
    /// return before it is with a confirm that has come, and that one has been looked at by then.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.has_heard(cx) {}
        for (place, answer) in self.tally.news() {
            if let Some(waiting) = self.answers[place].take() {
                // Whoever published it may have gone.
                let _ = waiting.send(answer);
            }
        }
        if self.tally.is_over() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Looks at all of them.
    fn has_heard(&mut self, cx: &mut Context<'_>) -> bool {
        let mut has_heard = false;
        for (place, step) in self.steps.iter_mut().enumerate() {
            if let Poll::Ready(said) = step.poll(cx) {
                *step = Step::Ended;
                has_heard = true;
                match said {
                    Ok(confirmation) => self.tally.confirmed(place, confirmation),
                    Err(error) => self.tally.broken(not_confirmed(&error)),
                }
            }
        }
        has_heard
    }
}

impl Step<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<lapin::Result<Confirmation>> {
        if let Self::Sending(sending) = self {
            match sending.poll_unpin(cx) {
                Poll::Ready(Ok(confirm)) => *self = Self::Sent(confirm),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        match self {
            Self::Sent(confirm) => confirm.poll_unpin(cx),
            Self::Sending(_) | Self::Ended => Poll::Pending,
        }
    }
}

/// Why a channel is not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoilt {
    /// The broker closed it for what was published.
    ByMessage,
    /// The connection has ended, or the exchange is not there.
    Stale,
    /// A confirm is still to come.
    Owing,
}
