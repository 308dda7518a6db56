//! Live streams: committed events as they commit, for whoever looks on now.
//!
//! One *feed* a process reads what has become visible since its last read, woken by commits, and hands each event to the *queue* of each
//! *stream* that wants it. A queue that nobody empties drops what it holds and says so in its place; nothing else notices. The *ring*
//! holds the last events, so that somebody who comes back within moments goes on where he was.

mod error;
mod hub;
mod position;
mod queue;
mod ring;
mod seat;
mod stream;
mod subscribe;
mod tail;

pub use self::error::LiveError;
pub(crate) use self::hub::Hub;
pub use self::hub::LiveLoad;
pub use self::position::LivePosition;
pub use self::queue::{Live, Missed};
pub use self::stream::LiveStream;
pub use self::subscribe::{LiveStreams, LiveSubscription};
pub(crate) use self::tail::{Tail, Took};
