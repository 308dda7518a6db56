//! The response.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CACHE_CONTROL;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use outbox::{BoxError, Envelope, Live, LiveStream};
use tokio::time::{Instant, sleep_until, timeout};

use crate::frame::Frame;

const HEARTBEAT: Duration = Duration::from_secs(15);
const RETRY: Duration = Duration::from_secs(2);
/// Longest wait for a check.
const CHECK_LIMIT: Duration = Duration::from_secs(5);

type Map = Box<dyn Fn(&Envelope) -> Option<Frame> + Send + Sync>;
type Checked = Pin<Box<dyn Future<Output = Result<bool, BoxError>> + Send>>;
type Check = Box<dyn Fn(Arc<Envelope>) -> Checked + Send + Sync>;

/// A live stream as a response: each event is a frame, and where something may be missing a frame named `refetch` tells the client to
/// read anew what it shows, with `{"reason": ".."}` as its data ([`Missed::as_str`](outbox::Missed::as_str), or `unchecked`).
///
/// The `id` of a frame is the stream's [position](outbox::LivePosition), which begins with the event's id. A client that comes
/// back with it ([`LastEventId`](crate::LastEventId)) goes on where it was. A heartbeat carries the position too, so that a quiet stream
/// moves on.
///
/// A client that does not read costs the buffer of its stream and nobody else anything. The response ends with its stream, when the
/// outbox is asked to shut down; a client that is stalled then holds a graceful shutdown of the server, which wants a bound of its own.
pub struct Sse {
    stream: LiveStream,
    map: Option<Map>,
    check: Option<Check>,
    heartbeat: Duration,
    retry: Duration,
}

impl Sse {
    /// A response of this stream.
    #[must_use]
    pub fn new(stream: LiveStream) -> Self {
        Self { stream, map: None, check: None, heartbeat: HEARTBEAT, retry: RETRY }
    }

    /// What is sent of an event; `None`: nothing, to this client. Default: [`Frame::of`].
    #[must_use]
    pub fn map(mut self, map: impl Fn(&Envelope) -> Option<Frame> + Send + Sync + 'static) -> Self {
        self.map = Some(Box::new(map));
        self
    }

    /// Whether this client may see an event, asked for each frame right before it is sent, so that whoever has lost the right sees no
    /// more. It delays this client alone. Where it fails, or has no answer within five seconds, the event is not sent, and a `refetch`
    /// is, with the reason `unchecked`: whatever the client reads then checks for itself.
    #[must_use]
    pub fn check<F, E>(mut self, check: impl Fn(Arc<Envelope>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<bool, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.check = Some(Box::new(move |envelope| {
            let checked = check(envelope);
            Box::pin(async move { checked.await.map_err(Into::into) })
        }));
        self
    }

    /// How long the response may be silent, before a heartbeat is sent. Default: 15 s, below what proxies take for dead. Not less than
    /// 10 ms.
    #[must_use]
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.heartbeat = every.max(Duration::from_millis(10));
        self
    }

    /// How long a client waits before it comes back, up to twice that, so that not all of them come at once. Default: 2 s.
    #[must_use]
    pub fn retry(mut self, after: Duration) -> Self {
        self.retry = after;
        self
    }
}

impl IntoResponse for Sse {
    fn into_response(self) -> Response {
        let frames = unfold(Frames::of(self), async |mut frames: Frames| {
            let frame = frames.next().await?;
            Some((Ok::<_, Infallible>(frame), frames))
        });
        let headers = [(CACHE_CONTROL.as_str(), "no-store"), ("x-accel-buffering", "no")];
        (headers, axum::response::Sse::new(frames)).into_response()
    }
}

impl fmt::Debug for Sse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sse").field("stream", &self.stream).field("heartbeat", &self.heartbeat).finish_non_exhaustive()
    }
}

/// The frames of one response.
struct Frames {
    sse: Sse,
    greeted: bool,
    /// When the next heartbeat is due.
    silent_until: Instant,
}

impl Frames {
    fn of(sse: Sse) -> Self {
        Self { silent_until: Instant::now() + sse.heartbeat, sse, greeted: false }
    }

    async fn next(&mut self) -> Option<Event> {
        let frame = if self.greeted { self.later().await? } else { self.greeting() };
        self.silent_until = Instant::now() + self.sse.heartbeat;
        Some(frame)
    }

    /// Sent at once: a proxy may hold a response back until something of it comes.
    fn greeting(&mut self) -> Event {
        self.greeted = true;
        let after = self.sse.retry.mul_f64(1.0 + rand::random::<f64>());
        Event::default().retry(after).comment("live")
    }

    async fn later(&mut self) -> Option<Event> {
        loop {
            let item = tokio::select! {
                item = self.sse.stream.next() => item?,
                () = sleep_until(self.silent_until) => return Some(self.with_position(Event::default().comment(""))),
            };
            let frame = match item {
                Live::Event(envelope) => self.show(&envelope).await,
                Live::Missed(why) => Some(refetch(why.as_str())),
                _ => None,
            };
            if let Some(frame) = frame {
                return Some(self.with_position(frame));
            }
        }
    }

    async fn show(&self, envelope: &Arc<Envelope>) -> Option<Event> {
        if let Some(check) = &self.sse.check {
            match timeout(CHECK_LIMIT, check(Arc::clone(envelope))).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return None,
                Ok(Err(error)) => return Some(unchecked(envelope, &error.to_string())),
                Err(_) => return Some(unchecked(envelope, "no answer in time")),
            }
        }
        let frame = self.sse.map.as_ref().map_or_else(|| Some(Frame::of(envelope)), |map| map(envelope))?;
        Some(frame.into_event(envelope))
    }

    /// Behind what was taken from the stream last.
    fn with_position(&self, frame: Event) -> Event {
        match self.sse.stream.position() {
            Some(position) => frame.id(position.to_string()),
            None => frame,
        }
    }
}

fn refetch(reason: &str) -> Event {
    Event::default().event("refetch").data(format!(r#"{{"reason":"{reason}"}}"#))
}

fn unchecked(envelope: &Envelope, error: &str) -> Event {
    tracing::warn!(event = %envelope.id, name = envelope.name, error, "whether a client may see this event could not be checked: it is told to read anew");
    refetch("unchecked")
}
