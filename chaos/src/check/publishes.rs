//! What publishers were answered against what is stored.

use std::collections::{HashMap, HashSet};

use super::{Rule, Verdict};
use crate::history::{Fate, History, Transaction};
use crate::load::FORWARDING;

pub(super) fn check(history: &History, verdict: &mut Verdict) {
    let mut stored: HashMap<(&str, &str), u64> = HashMap::new();
    for message in &history.messages {
        *stored.entry((&message.kind, &message.label)).or_default() += 1;
    }
    for transaction in &history.transactions {
        one(history, &stored, transaction, verdict);
    }
    from_nowhere(history, verdict);
}

fn one(history: &History, stored: &HashMap<(&str, &str), u64>, transaction: &Transaction, verdict: &mut Verdict) {
    let Transaction { name, messages, fate } = transaction;
    let times = |kind: &str, label: &str| stored.get(&(kind, label)).copied().unwrap_or(0);
    // Its business row counts like any of its messages.
    let mut counts: Vec<u64> = messages.iter().map(|one| times(&one.kind, &one.label)).collect();
    counts.push(history.business.get(name).copied().unwrap_or(0));
    let (whole, nothing) = (counts.iter().all(|count| *count == 1), counts.iter().all(|count| *count == 0));
    let what = || format!("{name}: its messages and its row are there {counts:?} times");
    match fate {
        Fate::Committed(answered) => {
            let lost = nothing && history.failover.is_some_and(|failover| failover.may_have_lost(*answered));
            verdict.expect(Rule::CommittedIsThere, None, whole || lost, what);
        }
        Fate::RolledBack => verdict.expect(Rule::RolledBackIsNot, None, nothing, what),
        Fate::Unknown => verdict.expect(Rule::UnknownIsWhole, None, whole || nothing, what),
    }
}

/// What handlers publish is looked at elsewhere.
fn from_nowhere(history: &History, verdict: &mut Verdict) {
    let meant = history.transactions.iter().flat_map(|transaction| &transaction.messages);
    let meant: HashSet<(&str, &str)> = meant.map(|one| (&*one.kind, &*one.label)).collect();
    let names: HashSet<&str> = history.transactions.iter().map(|transaction| &*transaction.name).collect();
    for message in &history.messages {
        let follows =
            FORWARDING.1.iter().any(|(kind, behind)| *kind == message.kind && message.label.ends_with(behind));
        let known = follows || meant.contains(&(&*message.kind, &*message.label));
        verdict.expect(Rule::NothingFromNowhere, None, known, || {
            format!("{} `{}` ({}) was published by nobody", message.kind, message.label, message.id)
        });
    }
    for tx in history.business.keys() {
        verdict.expect(Rule::NothingFromNowhere, None, names.contains(&**tx), || {
            format!("there is a row of a transaction `{tx}` that nobody made")
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Fate;
    use crate::check::Rule;
    use crate::check::scene::Scene;
    use crate::clock::Wall;
    use crate::history::FailedOver;

    #[test]
    fn a_committed_event_that_is_not_there_is_a_violation() {
        let mut scene = Scene::new();
        scene.lost_transaction(Fate::Committed(Wall(100)));
        assert_eq!(scene.broken(), [Rule::CommittedIsThere]);
    }

    /// Only what was answered between the last step that survived and the failover may be gone, all of it, and only when the
    /// replica was asynchronous.
    #[test]
    fn an_asynchronous_failover_loses_the_tail_and_nothing_else() {
        let mut scene = Scene::new();
        scene.lost_transaction(Fate::Committed(Wall(100)));
        for (synchronous, survived, at, broken) in
            [(false, 90, 110, false), (true, 90, 110, true), (false, 101, 110, true), (false, 80, 99, true)]
        {
            scene.history.failover = Some(FailedOver { synchronous, survived: Wall(survived), at: Wall(at) });
            assert_eq!(scene.broken().contains(&Rule::CommittedIsThere), broken, "{synchronous} {survived} {at}");
        }
        scene.history.failover = Some(FailedOver { synchronous: false, survived: Wall(90), at: Wall(110) });
        scene.history.business.insert("lost".to_owned(), 1);
        assert_eq!(scene.broken(), [Rule::CommittedIsThere], "half of it is not the tail");
    }

    #[test]
    fn a_rolled_back_event_that_is_there_is_a_violation() {
        let mut scene = Scene::new();
        scene.history.transactions[0].fate = Fate::RolledBack;
        assert_eq!(scene.broken(), [Rule::RolledBackIsNot]);
    }

    #[test]
    fn half_of_a_transaction_is_a_violation_also_when_its_fate_is_unknown() {
        let mut scene = Scene::new();
        scene.history.transactions[0].fate = Fate::Unknown;
        assert_eq!(scene.broken(), []);
        scene.history.business.clear();
        assert_eq!(scene.broken(), [Rule::UnknownIsWhole]);
    }

    #[test]
    fn a_business_row_that_is_there_twice_is_a_violation() {
        let mut scene = Scene::new();
        scene.history.business.insert("tx".to_owned(), 2);
        assert_eq!(scene.broken(), [Rule::CommittedIsThere]);
    }

    #[test]
    fn what_nobody_published_is_a_violation() {
        let mut scene = Scene::new();
        scene.history.business.insert("of nobody".to_owned(), 1);
        assert_eq!(scene.broken(), [Rule::NothingFromNowhere]);
        let mut scene = Scene::new();
        scene.history.transactions.clear();
        scene.history.business.clear();
        assert_eq!(scene.broken(), [Rule::NothingFromNowhere]);
    }
}
