//! What handlers noted against the claims and against each other.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::{Ending, Lives, Rule, Verdict};
use crate::clock::Monotonic;
use crate::history::{Execution, History, JobKey};
use crate::ledger::How;
use crate::load::{BLOCKING, CALLING};

pub(super) fn check(history: &History, lives: &Lives, verdict: &mut Verdict) {
    let mut jobs: HashMap<&JobKey, Vec<&Execution>> = HashMap::new();
    for execution in &history.executions {
        jobs.entry(&execution.job).or_default().push(execution);
    }
    at_least_once(history, lives, &jobs, verdict);
    one_key(&jobs, verdict);
    let absences = Absences::of(history);
    for (job, mut executions) in jobs {
        executions.sort_by_key(|execution| execution.began);
        started_once(history, lives, job, &executions, verdict);
        let rescued = lives.0.get(job).is_some_and(|life| life.rescues > 0);
        overlaps(history, &absences, rescued, &executions, verdict);
    }
}

fn at_least_once(history: &History, lives: &Lives, jobs: &HashMap<&JobKey, Vec<&Execution>>, verdict: &mut Verdict) {
    for (job, life) in &lives.0 {
        // A reason says that it succeeded without an execution.
        if !matches!(life.ending, Ending::Succeeded(_, None)) {
            continue;
        }
        let done = jobs.get(job).into_iter().flatten().find(|one| one.ended.is_some_and(|(_, how)| how == How::Done));
        verdict.expect(Rule::AtLeastOnce, job, done.is_some(), || "it succeeded, and no execution says so".to_owned());
        if let Some(done) = done
            && CALLING.contains(&&*job.handler)
        {
            let calls = history.calls.get(&done.key).copied().unwrap_or(0);
            verdict.expect(Rule::AtLeastOnce, job, calls > 0, || "it succeeded, and nobody was called".to_owned());
        }
    }
}

fn one_key(jobs: &HashMap<&JobKey, Vec<&Execution>>, verdict: &mut Verdict) {
    let mut owners: HashMap<&str, &JobKey> = HashMap::new();
    for (job, executions) in jobs {
        for execution in executions {
            let owner = *owners.entry(&execution.key).or_insert(*job);
            let first = &executions[0].key;
            let one = owner == *job && execution.key == *first;
            verdict
                .expect(Rule::OneKey, *job, one, || format!("the key `{}`, and `{first}`; {owner:?}", execution.key));
        }
    }
}

/// Each execution answers to a claim of its process, of the same attempt. A refund repeats an attempt, and then the claim too.
fn started_once(history: &History, lives: &Lives, job: &JobKey, executions: &[&Execution], verdict: &mut Verdict) {
    let mut claims: BTreeMap<(&str, i64), u64> = BTreeMap::new();
    for (node, attempt) in lives.0.get(job).map(|life| &life.claims).into_iter().flatten() {
        *claims.entry((node, i64::from(*attempt))).or_default() += 1;
    }
    for execution in executions {
        // Its claim may be among what the replica did not have.
        if history.failover.is_some_and(|failover| failover.may_have_lost(execution.began_wall)) {
            continue;
        }
        let left = claims.entry((&execution.node, i64::from(execution.attempt))).or_default();
        verdict.expect(Rule::AttemptStartedOnce, job, *left > 0, || {
            format!("attempt {} was started on {} more often than it was claimed", execution.attempt, execution.node)
        });
        *left = left.saturating_sub(1);
    }
}

/// An execution may outlive its lease until it is cancelled: at once, when its process is at work; as soon as it goes on, when
/// it stands still; not at all, when it blocks its thread. Without a rescue there is no lease to outlive.
fn overlaps(
    history: &History,
    absences: &Absences<'_>,
    rescued: bool,
    executions: &[&Execution],
    verdict: &mut Verdict,
) {
    for (place, later) in executions.iter().enumerate() {
        for earlier in &executions[..place] {
            if history.failover.is_some_and(|failover| failover.may_have_lost(earlier.began_wall)) {
                continue;
            }
            let ended = earlier.ended.map_or_else(|| absences.died(&earlier.node), |(at, _)| at);
            let cancelled = if rescued {
                absences.at_work_for(&earlier.node, later.began, history.limits.grace)
            } else {
                later.began
            };
            let blocks = rescued && BLOCKING.contains(&&*earlier.job.handler);
            verdict.expect(Rule::NoOverlap, &later.job, ended <= cancelled || blocks, || {
                let by = ended.seconds_since(later.began);
                format!(
                    "attempt {} on {} began {by:.3} s before attempt {} on {} had ended, rescued: {rescued}",
                    later.attempt, later.node, earlier.attempt, earlier.node
                )
            });
        }
    }
}

/// When processes died, and when they stood still.
struct Absences<'a> {
    deaths: HashMap<&'a str, Monotonic>,
    frozen: HashMap<&'a str, Vec<(Monotonic, Monotonic)>>,
}

impl<'a> Absences<'a> {
    fn of(history: &'a History) -> Self {
        let mut frozen: HashMap<&str, Vec<_>> = HashMap::new();
        for one in &history.frozen {
            frozen.entry(&one.node).or_default().push((one.from, one.to));
        }
        for times in frozen.values_mut() {
            times.sort();
        }
        Self { deaths: history.deaths.iter().map(|death| (&*death.node, death.at)).collect(), frozen }
    }

    /// Executions of which no end is known ended with their process.
    fn died(&self, node: &Arc<str>) -> Monotonic {
        self.deaths.get(&**node).copied().unwrap_or(Monotonic(u64::MAX))
    }

    /// When a process has been at work for so long since this moment. It may stand still then, and again before it has done what it
    /// should have.
    fn at_work_for(&self, node: &Arc<str>, since: Monotonic, long: Duration) -> Monotonic {
        let (mut at, mut left) = (since.0, u64::try_from(long.as_nanos()).unwrap_or(u64::MAX));
        for (from, to) in self.frozen.get(&**node).into_iter().flatten().filter(|(_, to)| *to > since) {
            let worked = from.0.saturating_sub(at);
            if worked > left {
                break;
            }
            (at, left) = (at.max(to.0), left - worked);
        }
        Monotonic(at.saturating_add(left))
    }
}

#[cfg(test)]
mod tests {
    use crate::check::Rule;
    use crate::check::scene::{Scene, WORKER};
    use crate::clock::{Monotonic, Wall};
    use crate::history::{Death, FailedOver, Frozen};
    use crate::ledger::How;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_success_without_an_execution_is_a_violation() {
        let mut scene = Scene::new();
        scene.history.executions.clear();
        assert_eq!(scene.broken(), [Rule::AtLeastOnce]);
        let mut scene = Scene::new();
        for execution in &mut scene.history.executions {
            execution.ended = Some((Monotonic(2), How::Failed));
        }
        assert_eq!(scene.broken(), [Rule::AtLeastOnce]);
    }

    #[test]
    fn a_success_without_a_call_is_a_violation() {
        let mut scene = Scene::new();
        scene.history.calls.clear();
        assert_eq!(scene.broken(), [Rule::AtLeastOnce]);
    }

    #[test]
    fn a_key_that_changes_is_a_violation() {
        let mut scene = Scene::rescued();
        assert_eq!(scene.broken(), []);
        scene.history.executions[1].key.push('x');
        assert_eq!(scene.broken(), [Rule::OneKey]);
    }

    #[test]
    fn a_key_of_two_jobs_is_a_violation() {
        let mut scene = Scene::new();
        let key = scene.history.executions[0].key.clone();
        scene.history.executions[1].key.clone_from(&key);
        assert!(scene.broken().contains(&Rule::OneKey));
    }

    #[test]
    fn an_attempt_that_was_started_twice_is_a_violation() {
        let mut scene = Scene::new();
        let mut again = scene.history.executions[0].clone();
        (again.began, again.ended) = (Monotonic(50 * SECOND), Some((Monotonic(51 * SECOND), How::Dropped)));
        scene.history.executions.push(again);
        assert_eq!(scene.broken(), [Rule::AttemptStartedOnce]);
        // Its claim may be among what an asynchronous replica did not have.
        let failover = FailedOver { synchronous: false, survived: Wall(0), at: Wall(i64::MAX) };
        scene.history.failover = Some(failover);
        assert_eq!(scene.broken(), []);
    }

    #[test]
    fn an_attempt_on_a_process_that_did_not_claim_is_a_violation() {
        let mut scene = Scene::new();
        scene.history.executions[0].node = "worker-2.1".into();
        assert_eq!(scene.broken(), [Rule::AttemptStartedOnce]);
    }

    /// The first execution was rescued; the second one begins at second 10.
    #[test]
    fn an_execution_that_outlives_its_lease_is_a_violation() {
        let mut scene = Scene::rescued();
        let first = |ended: u64| Some((Monotonic(ended * SECOND / 10), How::Dropped));
        scene.history.executions[0].ended = first(105);
        assert_eq!(scene.broken(), [], "it was being cancelled");
        scene.history.executions[0].ended = first(120);
        assert_eq!(scene.broken(), [Rule::NoOverlap]);
        let frozen = Frozen { node: WORKER.into(), from: Monotonic(9 * SECOND), to: Monotonic(12 * SECOND) };
        scene.history.frozen.push(frozen);
        assert_eq!(scene.broken(), [], "it stood still");
        scene.history.executions[0].ended = first(140);
        assert_eq!(scene.broken(), [Rule::NoOverlap], "it went on at second 12");
    }

    /// A process that is stopped again before it could cancel has not outlived anything; it has its time when it goes on.
    #[test]
    fn a_process_that_stands_still_twice_has_its_time_behind_both() {
        let mut scene = Scene::rescued();
        let frozen = |from: u64, to: u64| Frozen {
            node: WORKER.into(),
            from: Monotonic(from * SECOND / 100),
            to: Monotonic(to * SECOND / 100),
        };
        scene.history.frozen = vec![frozen(1_201, 1_500), frozen(900, 1_200)];
        for (ended, broken) in [(1_501, &[][..]), (1_575, &[]), (1_585, &[Rule::NoOverlap])] {
            scene.history.executions[0].ended = Some((Monotonic(ended * SECOND / 100), How::Dropped));
            assert_eq!(scene.broken(), broken, "{ended}");
        }
        // It had all its time between the two.
        scene.history.frozen = vec![frozen(900, 1_200), frozen(1_300, 1_500)];
        assert_eq!(scene.broken(), [Rule::NoOverlap]);
    }

    #[test]
    fn an_execution_ends_with_its_process() {
        let mut scene = Scene::rescued();
        scene.history.executions[0].ended = None;
        assert_eq!(scene.broken(), [Rule::NoOverlap], "as far as is known, it goes on");
        let death =
            |at| Death { node: WORKER.into(), at: Monotonic(at * SECOND), how: "signal: 9".into(), expected: true };
        scene.history.deaths.push(death(9));
        assert_eq!(scene.broken(), []);
    }

    /// Without a rescue, the first execution has to have ended, by however little.
    #[test]
    fn a_retry_that_begins_before_the_first_has_ended_is_a_violation() {
        let mut scene = Scene::retried();
        assert_eq!(scene.broken(), []);
        scene.history.executions[0].ended = Some((Monotonic(10 * SECOND + 1), How::Failed));
        assert_eq!(scene.broken(), [Rule::NoOverlap]);
    }
}
