//! What a worker is tuned for: a few settings that only make sense together.

use std::time::Duration;

/// What an outbox is tuned for. Said to [`OutboxBuilder::profile`](crate::OutboxBuilder::profile); a setting that is said for itself
/// wins over its profile, before or behind it.
///
/// | | [`low_latency`](Self::low_latency) | [`default`](Self::default) | [`high_throughput`](Self::high_throughput) |
/// |---|---|---|---|
/// | most jobs of one claim, `.batch(..)` | 32 | 100 | 500 |
/// | most jobs that wait in memory, `.prefetch(..)` | 0 | 100 | 1000 |
/// | an idle worker looks every, `.poll_interval(..)` | 100 ms | 1 s | 1 s |
/// | a process sends a NOTIFY every, at most | 1 ms | 10 ms | 50 ms |
/// | a handler's connection goes straight to the next handler, whose transaction begins with the commit before it | no | no | yes |
///
/// No profile changes what is promised, nor how many handlers run at once: that is for what the handlers call to say, see
/// [`OutboxBuilder::concurrency`](crate::OutboxBuilder::concurrency).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Most rows of one claim.
    pub(crate) batch: u32,
    /// Most jobs that wait in memory beside those that run.
    pub(crate) prefetch: u32,
    pub(crate) poll_interval: Duration,
    /// How long a NOTIFY stands for all commits behind it.
    pub(crate) debounce: Duration,
    /// Whether a connection of the application's pool goes from one handler to the next, and its transaction begins with the commit before it.
    pub(crate) hand_over: bool,
}

impl Profile {
    /// A job begins as soon as any worker has a free slot for it.
    ///
    /// No job waits in one worker's memory while another worker is free, no claim is large enough for the next one to wait for it,
    /// commits in quick succession are told to other processes one by one, and what comes without a notification (a retry, a delayed
    /// job) is found ten times as soon.
    ///
    /// The cost: under load each claim brings only what the free slots take, so that a job costs more statements and a worker drains a
    /// backlog of quick jobs more slowly. Ten claims a second from each idle worker. Up to a thousand
    /// notifications a second from each process that publishes, each of which wakes every worker.
    #[must_use]
    pub const fn low_latency() -> Self {
        Self {
            batch: 32,
            prefetch: 0,
            poll_interval: Duration::from_millis(100),
            debounce: Duration::from_millis(1),
            hand_over: false,
        }
    }

    /// As many quick jobs as the database can hand out and take back.
    ///
    /// A claim brings up to five hundred jobs while as many wait in memory, so that claim, handlers and settle work side by side, each
    /// on a connection of its own, and a statement's cost is shared by hundreds of jobs. Jobs that take longer than a few milliseconds
    /// gain little: no handler's jobs wait in memory for more than about half a second of its work, in any profile.
    ///
    /// The cost: up to a thousand jobs with their payloads in memory. When the process dies, those that waited there begin
    /// elsewhere only when its lease has ended, and each has an attempt and a crash counted. A claim takes some ten milliseconds, for
    /// which a job that has just been committed waits. Another process hears of a commit up to 50 ms late, when it follows another one.
    /// A connection of the application's pool on which a handler had its transaction serves the next handlers for up to 20 ms before it
    /// goes back, without the pool's `before_acquire` and `after_release`; who else waits for a connection waits so much longer. While the
    /// pool has others to give, it is up to a second. Where a handler's job waits in memory, its transaction begins with the commit of the one
    /// before it, and is open without a job until that has the slot, or for a millisecond or two.
    #[must_use]
    pub const fn high_throughput() -> Self {
        Self {
            batch: 500,
            prefetch: 1_000,
            poll_interval: Duration::from_secs(1),
            debounce: Duration::from_millis(50),
            hand_over: true,
        }
    }
}

/// Between the two: a single job begins at once, and a backlog is claimed by the hundred.
impl Default for Profile {
    fn default() -> Self {
        Self {
            batch: 100,
            prefetch: 100,
            poll_interval: Duration::from_secs(1),
            debounce: Duration::from_millis(10),
            hand_over: false,
        }
    }
}
