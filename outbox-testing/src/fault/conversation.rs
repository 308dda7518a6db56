//! What one connection is about at the moment: which statements its messages execute, and which answer belongs to which.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::protocol::Message;
use super::statement::name_of;

/// A statement that is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Executed {
    /// Its name.
    pub(super) name: String,
    /// The statements that its transaction has executed before.
    pub(super) after: BTreeSet<String>,
}

/// One connection's state. Clients send statements in cycles, each answered by one "ready for query".
#[derive(Debug)]
pub(super) struct Conversation {
    prepared: HashMap<Vec<u8>, String>,
    portals: HashMap<Vec<u8>, String>,
    /// Executed since the transaction began.
    so_far: BTreeSet<String>,
    /// Of the cycle that the client has begun.
    begun: Vec<Executed>,
    /// Cycles that the server has not answered, oldest first.
    unanswered: VecDeque<Vec<Executed>>,
}

impl Conversation {
    /// A session that begins: the server's first "ready for query" answers the opening.
    pub(super) fn new() -> Self {
        Self {
            prepared: HashMap::new(),
            portals: HashMap::new(),
            so_far: BTreeSet::new(),
            begun: Vec::new(),
            unanswered: VecDeque::from([Vec::new()]),
        }
    }

    /// Hears a message of the client, and tells what it executes.
    pub(super) fn client_says(&mut self, message: &Message) -> Option<Executed> {
        let mut texts = message.texts();
        let (first, second) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
        let executed = match message.kind() {
            b'P' => {
                self.prepared.insert(first.to_vec(), name_of(&String::from_utf8_lossy(second)));
                None
            }
            b'B' => {
                let name = self.prepared.get(second).cloned().unwrap_or_default();
                self.portals.insert(first.to_vec(), name);
                None
            }
            b'E' => Some(self.portals.get(first).cloned().unwrap_or_default()),
            b'Q' => Some(name_of(&String::from_utf8_lossy(first))),
            _ => None,
        };
        let executed = executed.map(|name| self.executes(name));
        if message.kind() == b'Q' && ends_and_begins(&String::from_utf8_lossy(first)) {
            self.so_far.clear();
        }
        self.begun.extend(executed.clone());
        if matches!(message.kind(), b'Q' | b'S' | b'F') {
            self.unanswered.push_back(std::mem::take(&mut self.begun));
        }
        executed
    }

    /// What the server's next messages answer.
    pub(super) fn being_answered(&self) -> &[Executed] {
        self.unanswered.front().map_or(&[], Vec::as_slice)
    }

    /// The server has answered a cycle: these are its statements.
    pub(super) fn answered(&mut self, ready: &Message) -> Vec<Executed> {
        if ready.says_idle() {
            self.so_far.clear();
        }
        self.unanswered.pop_front().unwrap_or_default()
    }

    fn executes(&mut self, name: String) -> Executed {
        if matches!(name.as_str(), "begin" | "start") {
            self.so_far.clear();
        }
        let after = self.so_far.clone();
        self.so_far.insert(name.clone());
        Executed { name, after }
    }
}

/// Whether a text ends one transaction and begins another.
fn ends_and_begins(text: &str) -> bool {
    let mut statements = text.split(';').map(name_of);
    statements.any(|name| name == "commit" || name == "rollback") && statements.any(|name| name == "begin")
}

/// Whether this message of a client is only part of something that later messages complete.
pub(super) fn is_part(message: &Message) -> bool {
    matches!(message.kind(), b'P' | b'B' | b'D' | b'E' | b'C')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a transaction has executed is nothing of one that begins in the text by which it ends.
    #[test]
    fn a_text_can_end_one_transaction_and_begin_another() {
        assert!(ends_and_begins("commit; begin; set local outbox.claim = 'x'"));
        assert!(ends_and_begins("ROLLBACK; BEGIN"));
        assert!(!ends_and_begins("commit"));
        assert!(!ends_and_begins("begin; set local statement_timeout = 1; commit"));
    }
}
