//! What the ledgers say, put together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Death, Execution, FailedOver, Fate, Frozen, History, JobKey, Transaction};
use crate::clock::Monotonic;
use crate::ledger::{Entry, Line};

impl History {
    /// Takes in all ledgers.
    pub(super) fn take_ledgers(&mut self, ledgers: Vec<(String, Vec<Line>)>) {
        let mut names = HashMap::new();
        for (node, lines) in ledgers {
            let mut page =
                Page { node: node.into(), began: HashMap::new(), meant: BTreeMap::new(), froze: HashMap::new() };
            for line in lines {
                page.line(self, &mut names, line);
            }
            self.transactions.extend(page.meant.into_values());
            // Never thawed: the run ended before.
            let for_ever = Monotonic(u64::MAX);
            self.frozen.extend(page.froze.into_iter().map(|(node, from)| Frozen { node, from, to: for_ever }));
        }
    }
}

/// One process's ledger, as far as it was read.
struct Page {
    node: Arc<str>,
    /// Executions that have begun, by their number, and where they stand.
    began: HashMap<u64, usize>,
    meant: BTreeMap<String, Transaction>,
    froze: HashMap<String, Monotonic>,
}

impl Page {
    fn line(&mut self, history: &mut History, names: &mut HashMap<String, Arc<str>>, line: Line) {
        match line.e {
            Entry::Meant { tx, messages } => {
                // Until its commit is sent, whatever becomes of its process rolls it back.
                let transaction = Transaction { name: tx.clone(), messages, fate: Fate::RolledBack };
                self.meant.insert(tx, transaction);
            }
            Entry::Committing { tx } => self.fate(&tx, Fate::Unknown),
            Entry::Committed { tx } => self.fate(&tx, Fate::Committed(line.w)),
            Entry::RolledBack { tx } => self.fate(&tx, Fate::RolledBack),
            Entry::Started { run, handler, source, key, attempt } => {
                let handler = names.entry(handler).or_insert_with_key(|name| name.as_str().into());
                let job = JobKey { handler: Arc::clone(handler), source };
                self.began.insert(run, history.executions.len());
                history.executions.push(Execution {
                    node: Arc::clone(&self.node),
                    job,
                    key,
                    attempt,
                    began: line.t,
                    began_wall: line.w,
                    ended: None,
                });
            }
            Entry::Ended { run, how } => {
                if let Some(place) = self.began.remove(&run) {
                    history.executions[place].ended = Some((line.t, how));
                }
            }
            Entry::Called { key } => *history.calls.entry(key).or_default() += 1,
            Entry::Refused { write } => *history.refused.entry(write).or_default() += 1,
            Entry::Starved => history.starved += 1,
            Entry::Died { node, how, expected } => history.deaths.push(Death { node, at: line.t, how, expected }),
            Entry::Froze { node } => drop(self.froze.insert(node, line.t)),
            Entry::Thawed { node } => {
                if let Some(from) = self.froze.remove(&node) {
                    history.frozen.push(Frozen { node, from, to: line.t });
                }
            }
            Entry::FailedOver { synchronous, survived } => {
                history.failover = Some(FailedOver { synchronous, survived, at: line.w });
            }
            Entry::Born { .. } | Entry::Fault { .. } => {}
        }
    }

    fn fate(&mut self, tx: &str, fate: Fate) {
        if let Some(transaction) = self.meant.get_mut(tx) {
            transaction.fate = fate;
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::clock::Wall;
    use crate::ledger::How;

    fn line(t: u64, e: Entry) -> Line {
        Line { t: Monotonic(t), w: Wall(0), e }
    }

    fn history(entries: Vec<Entry>) -> History {
        let lines = (0..).zip(entries).map(|(t, entry)| line(t, entry)).collect();
        let mut history = History::default();
        history.take_ledgers(vec![("worker-1.1".to_owned(), lines)]);
        history
    }

    /// A transaction of which nothing is said but that it was meant was never committed; once its commit was sent, nobody
    /// knows until there is an answer.
    #[test]
    fn the_last_word_on_a_transaction_holds() {
        let tx = || "one".to_owned();
        let fates = [
            (vec![], Fate::RolledBack),
            (vec![Entry::Committing { tx: tx() }], Fate::Unknown),
            (vec![Entry::Committing { tx: tx() }, Entry::Committed { tx: tx() }], Fate::Committed(Wall(0))),
            (vec![Entry::RolledBack { tx: tx() }], Fate::RolledBack),
        ];
        for (said, fate) in fates {
            let all = std::iter::once(Entry::Meant { tx: tx(), messages: Vec::new() }).chain(said).collect();
            assert_eq!(history(all).transactions[0].fate, fate);
        }
    }

    #[test]
    fn an_execution_ends_once_or_never() {
        let started =
            |run| Entry::Started { run, handler: "a.b".into(), source: Uuid::nil(), key: "k".into(), attempt: 1 };
        let history = history(vec![started(1), started(2), Entry::Ended { run: 1, how: How::Done }]);
        let ends: Vec<_> = history.executions.iter().map(|execution| execution.ended).collect();
        assert_eq!(ends, [Some((Monotonic(2), How::Done)), None]);
    }
}
