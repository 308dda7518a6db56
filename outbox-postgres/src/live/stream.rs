//! One live stream, as its consumer holds it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use outbox_core::Envelope;

use super::position::LivePosition;
use super::queue::{Live, Next};
use super::seat::Seat;
use crate::outbox::Outbox;

pub(crate) type Filter = Box<dyn Fn(&Envelope) -> bool + Send + Sync>;

/// Committed events as they commit: see [`LiveStreams`](crate::LiveStreams). A [`Stream`], with [`next`](Self::next) for who does without its
/// traits.
///
/// It ends when the outbox is asked to shut down, after what waits in it. Whoever does not take its items delays nobody, and is told
/// what it cost him: [`Missed::Slow`](crate::Missed::Slow).
#[must_use = "a stream does nothing unless it is read"]
pub struct LiveStream {
    pub(crate) outbox: Outbox,
    pub(crate) seat: Arc<Seat>,
    pub(crate) number: u64,
    pub(crate) filter: Option<Filter>,
}

impl LiveStream {
    /// The next item; `None` when the stream has ended.
    ///
    /// # Cancel safety
    /// Cancel safe: no item is lost.
    pub async fn next(&mut self) -> Option<Live> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Where it stands, behind the last item taken: for [`resume`](crate::LiveSubscription::resume). It moves on with events that this
    /// stream does not show, too. `None`: where it stands is not remembered; a stream that begins anew is as good.
    #[must_use]
    pub fn position(&self) -> Option<LivePosition> {
        self.seat.queue().position()
    }

    /// How many events wait in its buffer, and how many bytes their payloads have.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        self.seat.queue().waiting()
    }
}

impl Stream for LiveStream {
    type Item = Live;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Live>> {
        loop {
            let next = self.seat.queue().take(context.waker());
            match next {
                // The application's filter runs here, in its own task, and not in the feed.
                Next::Item(Live::Event(event)) if self.filter.as_ref().is_some_and(|wanted| !wanted(&event)) => {}
                Next::Item(item) => return Poll::Ready(Some(item)),
                Next::Ended => return Poll::Ready(None),
                Next::Nothing => return Poll::Pending,
            }
        }
    }
}

impl Drop for LiveStream {
    fn drop(&mut self) {
        if self.outbox.inner().live.leave(self.number) {
            // The feed has nobody left to listen for.
            self.outbox.inner().wake.live.notify_one();
        }
    }
}

impl fmt::Debug for LiveStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveStream").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
