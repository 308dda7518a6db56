//! `outbox.live().events(["issue.*"]).subscribe()`.

use std::fmt;

use outbox_core::{Envelope, Event, name};

use super::error::LiveError;
use super::hub::LiveLoad;
use super::queue::Limits;
use super::seat::{From, Wants};
use super::stream::{Filter, LiveStream};
use crate::outbox::Outbox;
use crate::service::feed;

const BUFFER: usize = 256;
/// Most bytes of payload that wait in a buffer of however many events.
const BUFFER_BYTES: usize = 1024 * 1024;

/// Live streams: committed events as they commit, to whoever looks on now. From [`Outbox::live`].
///
/// ```no_run
/// # use outbox_postgres::{Live, LiveError, Outbox};
/// # async fn look_on(outbox: &Outbox) -> Result<(), LiveError> {
/// let mut stream = outbox.live().events(["issue.*", "comment.created"]).tenant("project 12").subscribe()?;
/// while let Some(item) = stream.next().await {
///     match item {
///         Live::Event(envelope) => println!("{} {}", envelope.name, envelope.id),
///         Live::Missed(why) => println!("{}: read anew what is shown", why.as_str()),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// What they promise: an event is seen after its commit and only then, at most once in a stream, by every process that looks on, and
/// behind those whose commit its publisher knew of. What they do not: that it is seen. Where something is or may be missing the stream says
/// so in its place, [`Live::Missed`](crate::Live::Missed), and the consumer reads anew what it shows. What must happen for every event is a
/// subscriber's matter.
///
/// The first stream of a process starts its *feed*: one task with one database connection, and one that listens, for any number of
/// streams. It ends half a minute after the last of them. While there is none, nothing is read.
#[derive(Debug, Clone)]
pub struct LiveStreams {
    outbox: Outbox,
}

impl LiveStreams {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox }
    }

    /// A stream of the events that these patterns mean: `issue.updated`, `issue.*`, or `*`.
    pub fn events<P: Into<String>>(&self, patterns: impl IntoIterator<Item = P>) -> LiveSubscription {
        let patterns = patterns.into_iter().map(Into::into).collect();
        LiveSubscription {
            outbox: self.outbox.clone(),
            wants: Wants { patterns, tenant: None },
            buffer: BUFFER,
            from: From::Now,
            filter: None,
        }
    }

    /// A stream of the events of one type.
    pub fn event<E: Event>(&self) -> LiveSubscription {
        self.events([E::NAME])
    }

    /// How many streams are open, and what waits in them: for metrics. From memory, at once.
    #[must_use]
    pub fn load(&self) -> LiveLoad {
        self.outbox.inner().live.load()
    }

    /// Ends every stream of this outbox, now: for a server that shuts down, and waits for its open responses. [`Outbox::run`] does so by
    /// itself when its shutdown is asked for. Streams that are asked for later end at once, until `run` begins anew.
    pub fn close(&self) {
        self.outbox.inner().live.close();
        self.outbox.inner().wake.live.notify_one();
    }
}

/// A live stream that is being described. From [`LiveStreams::events`].
#[must_use = "there is no stream until `subscribe()`"]
pub struct LiveSubscription {
    outbox: Outbox,
    wants: Wants,
    buffer: usize,
    from: From,
    filter: Option<Filter>,
}

impl LiveSubscription {
    /// Only events that were published within this [tenant or project](outbox_core::Metadata::tenant). The feed decides it, so that the
    /// others do not even wake this stream's task.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.wants.tenant = Some(tenant.into());
        self
    }

    /// Only events for which this answers `true`, asked for each event when the consumer takes it, in the consumer's task. Said twice, both
    /// have to.
    pub fn filter(mut self, wanted: impl Fn(&Envelope) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(match self.filter.take() {
            None => Box::new(wanted),
            Some(before) => Box::new(move |envelope| before(envelope) && wanted(envelope)),
        });
        self
    }

    /// Most events that wait for a consumer who is busy, and 1 MiB of payload. Default: 256. When there is no room, all that waits goes and
    /// the consumer is told [`Missed::Slow`](crate::Missed::Slow).
    pub fn buffer(mut self, events: usize) -> Self {
        self.buffer = events;
        self
    }

    /// Goes on behind a [`LivePosition`](crate::LivePosition), given as its text, when this process remembers it: the last 1,024 events and
    /// 1 MiB of payload. Otherwise, and when the text is something else, the stream begins with [`Missed::Forgotten`](crate::Missed::Forgotten). With `None` it
    /// begins now.
    pub fn resume(mut self, position: Option<&str>) -> Self {
        self.from = match position {
            None => From::Now,
            Some(text) => text.parse().map_or(From::Nowhere, From::Position),
        };
        self
    }

    /// Begins. Nothing is waited for: while the database is away the stream is silent, and it begins with
    /// [`Missed::Started`](crate::Missed::Started) when it stands.
    ///
    /// # Errors
    /// When a pattern means no event, or none that is linked into this program, the buffer holds none, or there is no tokio runtime here.
    pub fn subscribe(self) -> Result<LiveStream, LiveError> {
        self.check()?;
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| LiveError::NoRuntime)?;
        let limits = Limits { events: self.buffer, bytes: BUFFER_BYTES };
        let joined = self.outbox.inner().live.join(self.wants, limits, self.from);
        if let Some(number) = joined.feed {
            runtime.spawn(feed::run(&self.outbox, number));
        }
        if joined.first {
            self.outbox.inner().wake.live.notify_one();
        }
        Ok(LiveStream { outbox: self.outbox, seat: joined.seat, number: joined.number, filter: self.filter })
    }

    fn check(&self) -> Result<(), LiveError> {
        if self.wants.patterns.is_empty() {
            return Err(LiveError::NoEvents);
        }
        if self.buffer == 0 {
            return Err(LiveError::NoBuffer);
        }
        if let Some(pattern) = self.wants.patterns.iter().find(|pattern| !name::is_pattern(pattern)) {
            return Err(LiveError::Pattern { pattern: pattern.clone() });
        }
        // Sorted, as the registry has them. A program that links none shows what others publish.
        let mut known: Vec<_> = self.outbox.registry().events().iter().map(|event| event.name).collect();
        known.dedup();
        let is_known = |pattern: &String| known.iter().any(|event| name::matches(pattern, event));
        match self.wants.patterns.iter().find(|pattern| !is_known(pattern)) {
            Some(pattern) if !known.is_empty() => {
                Err(LiveError::UnknownEvents { pattern: pattern.clone(), known: known.clone() })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for LiveSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSubscription")
            .field("wants", &self.wants)
            .field("buffer", &self.buffer)
            .finish_non_exhaustive()
    }
}
