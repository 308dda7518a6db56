//! What the programs of a run saw: an append-only file a process, a line a write. What is written survives the `SIGKILL` of its
//! process, and its times compare with those of the others.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::{Monotonic, Wall};

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When it was written.
    pub t: Monotonic,
    /// The same moment by the clock on the wall.
    pub w: Wall,
    /// What it says.
    pub e: Entry,
}

/// A message that is to be published or enqueued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intended {
    /// The event's or the job's stored name.
    pub kind: String,
    /// Which one; no other message has it.
    pub label: String,
}

/// How an execution of a handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It returned `Ok`.
    Done,
    /// It returned an error.
    Failed,
    /// It was dropped, or it panicked.
    Dropped,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A transaction is about to be begun. A second try of it is not said again.
    Meant {
        /// Its name.
        tx: String,
        /// What it publishes.
        messages: Vec<Intended>,
    },
    /// It is about to be committed: from here on its fate is the database's to say.
    Committing {
        /// Its name.
        tx: String,
    },
    /// Its commit was answered, or a later try found it committed.
    Committed {
        /// Its name.
        tx: String,
    },
    /// It was rolled back, or given up before its commit was sent.
    RolledBack {
        /// Its name.
        tx: String,
    },
    /// A handler began.
    Started {
        /// Its number in this process.
        run: u64,
        /// The handler's stored name.
        handler: String,
        /// The event's id, or the job's for a job without event.
        source: Uuid,
        /// The idempotency key that it was given.
        key: String,
        /// Which attempt.
        attempt: u32,
    },
    /// It ended.
    Ended {
        /// Its number in this process.
        run: u64,
        /// How.
        how: How,
    },
    /// A handler called somebody outside, under its key.
    Called {
        /// The key.
        key: String,
    },
    /// The engine refused an outcome or an effect, because its claim no longer stands.
    Refused {
        /// Which write.
        write: String,
    },
    /// Every connection of this process's pool was taken, and given back.
    Starved,
    /// The conductor started a process.
    Born {
        /// Its name.
        node: String,
    },
    /// The conductor saw that a process had ended.
    Died {
        /// Its name.
        node: String,
        /// How, in words.
        how: String,
        /// Whether that is how processes end in a run: killed, asked to, aborted by a handler, or without a database to open.
        expected: bool,
    },
    /// The conductor stops a process.
    Froze {
        /// Its name.
        node: String,
    },
    /// It goes on.
    Thawed {
        /// Its name.
        node: String,
    },
    /// A fault happened.
    Fault {
        /// Its kind.
        kind: String,
    },
    /// A replica has taken over.
    FailedOver {
        /// Whether it had everything that was answered as committed.
        synchronous: bool,
        /// Whatever was answered before this moment is there; later than it, only what is there is.
        survived: Wall,
    },
}

/// The ledger of this process.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<File>);

impl Ledger {
    /// Opens the ledger of the process of this name.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn open(folder: &Path, node: &str) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path(folder, node))?;
        Ok(Self(Arc::new(file)))
    }

    /// Writes a line. When it cannot be written, the run is worth nothing, and the process ends.
    pub fn say(&self, entry: Entry) {
        let line = Line { t: Monotonic::now(), w: Wall::now(), e: entry };
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        if let Err(error) = (&*self.0).write_all(&bytes) {
            tracing::error!(%error, "the ledger cannot be written");
            std::process::exit(5);
        }
    }
}

/// Where a process's ledger is.
fn path(folder: &Path, node: &str) -> PathBuf {
    folder.join(format!("{node}.ledger"))
}

/// All ledgers of a run: the processes' names and their lines. A last line that was cut off in the middle is left out.
///
/// # Errors
/// When one cannot be read, or holds a line that is none.
pub fn read(folder: &Path) -> io::Result<Vec<(String, Vec<Line>)>> {
    let mut ledgers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "ledger") {
            continue;
        }
        let node = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path)?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        ledgers.push((node, lines));
    }
    ledgers.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(ledgers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was said is read again, by process; the line that a `SIGKILL` cut off is not.
    #[test]
    fn what_was_said_is_read_again() {
        let folder = std::env::temp_dir().join(format!("outbox-ledger-{}", Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let entry = Entry::Died { node: "worker-1.1".into(), how: "signal: 9".into(), expected: true };
        Ledger::open(&folder, "conductor").unwrap().say(entry.clone());
        let ledger = Ledger::open(&folder, "worker-1.1").unwrap();
        ledger.say(Entry::Ended { run: 7, how: How::Dropped });
        (&*ledger.0).write_all(b"{\"t\":1,\"w\":").unwrap();
        let ledgers = read(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let said: Vec<_> =
            ledgers.iter().map(|(node, lines)| (node.as_str(), lines[0].e.clone(), lines.len())).collect();
        let ended = Entry::Ended { run: 7, how: How::Dropped };
        assert_eq!(said, [("conductor", entry, 1), ("worker-1.1", ended, 1)]);
    }
}
