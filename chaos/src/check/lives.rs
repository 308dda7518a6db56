//! Each job's life, step by step, as the audit trail has it.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use super::{Rule, Verdict};
use crate::history::{History, JobKey, Service, Step, What, WorkerWhat};
use crate::load::FAILING;

/// What became of each job.
#[derive(Clone, Debug, Default)]
pub struct Lives(pub HashMap<JobKey, Life>);

/// What became of a job.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// How many rows it has had: one, or somebody made it twice.
    pub rows: u64,
    /// How it ended.
    pub ending: Ending,
    /// Its claims: by which process, and which attempt each was.
    pub claims: Vec<(Arc<str>, i32)>,
    /// How often it was taken from a dead worker.
    pub rescues: u64,
}

/// How a job ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// It has not.
    #[default]
    None,
    /// Well, by this claim; the reason, when there is one, says why without an execution.
    Succeeded(Option<Uuid>, Option<Arc<str>>),
    /// Badly.
    Failed,
}

/// Where a job's row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nothing,
    Pending,
    Running {
        claim: Option<Uuid>,
        worker: Option<Uuid>,
    },
    /// Its live row is gone, and its final one is to come in the same transaction.
    Leaving {
        xid: u64,
        claim: Option<Uuid>,
        worker: Option<Uuid>,
    },
    Succeeded,
    Failed,
    /// Its final row is gone, and its live one is to come in the same transaction.
    Returning {
        xid: u64,
    },
    /// A violation was found; what follows from it is none of its own.
    Confused,
}

pub(super) fn check(history: &History, verdict: &mut Verdict) -> Lives {
    let workers = Workers::of(history);
    let mut jobs: HashMap<Uuid, Vec<&Step>> = HashMap::new();
    for step in &history.steps {
        jobs.entry(step.job).or_default().push(step);
    }
    let mut lives = Lives::default();
    for steps in jobs.values() {
        let walk = Walk {
            history,
            workers: &workers,
            verdict,
            job: steps[0].key.clone(),
            state: State::Nothing,
            counts: (0, 0),
            life: Life { rows: 1, ..Life::default() },
        };
        let (job, life) = walk.all(steps);
        verdict.jobs += 1;
        verdict.rescued += life.rescues;
        verdict.claims += u64::try_from(life.claims.len()).unwrap_or(0);
        match life.ending {
            Ending::Succeeded(..) => verdict.ended.0 += 1,
            Ending::Failed => verdict.ended.1 += 1,
            Ending::None => {}
        }
        lives.0.entry(job).and_modify(|known| known.rows += 1).or_insert(life);
    }
    verdict.expect(Rule::EveryJobEnds, None, history.limits.stalled == 0, || {
        format!("{} jobs had not ended when nothing changed any more", history.limits.stalled)
    });
    lives
}

/// When each worker lived, by the numbers of the steps, and which process it was.
struct Workers<'a>(HashMap<Uuid, Worker<'a>>);

struct Worker<'a> {
    node: &'a Arc<str>,
    registered: i64,
    ended: Option<i64>,
}

impl<'a> Workers<'a> {
    fn of(history: &'a History) -> Self {
        let mut workers: HashMap<Uuid, Worker<'a>> = HashMap::new();
        for step in &history.workers {
            let worker = workers.entry(step.worker);
            let worker = worker.or_insert(Worker { node: &step.node, registered: step.no, ended: None });
            if step.what != WorkerWhat::Registered {
                worker.ended.get_or_insert(step.no);
            }
        }
        Self(workers)
    }

    fn lives_at(&self, worker: Option<Uuid>, no: i64) -> bool {
        self.get(worker).is_some_and(|it| it.registered < no && it.ended.is_none_or(|ended| ended > no))
    }

    fn is_dead_at(&self, worker: Option<Uuid>, no: i64) -> bool {
        self.get(worker).is_some_and(|it| it.ended.is_some_and(|ended| ended < no))
    }

    fn node_of(&self, worker: Option<Uuid>) -> Option<&'a Arc<str>> {
        self.get(worker).map(|it| it.node)
    }

    fn get(&self, worker: Option<Uuid>) -> Option<&Worker<'a>> {
        self.0.get(&worker?)
    }
}

/// A walk along the steps of one job.
struct Walk<'a> {
    history: &'a History,
    workers: &'a Workers<'a>,
    verdict: &'a mut Verdict,
    job: JobKey,
    state: State,
    /// Attempts and crashes of this life.
    counts: (i32, i32),
    life: Life,
}

impl Walk<'_> {
    fn all(mut self, steps: &[&Step]) -> (JobKey, Life) {
        for step in steps {
            self.step(step);
        }
        self.end();
        (self.job, self.life)
    }

    fn end(&mut self) {
        let state = self.state;
        let ended = matches!(state, State::Succeeded | State::Failed | State::Confused);
        self.expect(Rule::EveryJobEnds, ended, || format!("it was left as {state:?}"));
        if ended && state != State::Confused {
            let fails = FAILING.contains(&&*self.job.handler);
            let as_planned = fails == (state == State::Failed);
            self.expect(Rule::EndsAsPlanned, as_planned, || format!("it ended as {state:?}"));
        }
    }

    fn step(&mut self, step: &Step) {
        match (self.state, step.what) {
            (State::Nothing, What::Made) => self.begins(step),
            (State::Returning { xid }, What::Made) if xid == step.xid => {
                self.begins(step);
                self.verdict.redriven += 1;
            }
            (State::Pending, What::Changed) if step.running => self.claimed(step),
            (State::Running { .. }, What::Changed) if step.running => {
                self.breaks(Rule::OneLease, || {
                    format!("step {}: claimed by {:?} while it was running", step.no, step.claim)
                });
            }
            (State::Running { claim, worker }, What::Changed) => self.came_back(step, claim, worker),
            (State::Running { claim, worker }, What::Gone) => {
                self.expect(Rule::OneLease, step.claim == claim, || {
                    format!("step {}: it left under {:?}", step.no, step.claim)
                });
                self.state = State::Leaving { xid: step.xid, claim, worker };
            }
            (State::Leaving { xid, claim, worker }, What::Succeeded) if xid == step.xid => {
                self.settled_by(step, worker);
                self.life.ending = Ending::Succeeded(claim, step.reason.clone());
                self.state = State::Succeeded;
            }
            (State::Leaving { xid, worker, .. }, What::Failed) if xid == step.xid => self.failed(step, worker),
            (State::Failed, What::Redriven) => {
                self.looked_at(Rule::FinalIsFinal);
                self.life.ending = Ending::None;
                self.state = State::Returning { xid: step.xid };
            }
            (State::Succeeded | State::Failed, _) | (_, What::Broken | What::Redriven) => {
                self.breaks(Rule::FinalIsFinal, || {
                    format!("step {}: {:?} of a job that had ended", step.no, step.what)
                });
            }
            (State::Confused, _) => {}
            (state, what) => {
                self.breaks(Rule::LegalSteps, || format!("step {}: {what:?} when it was {state:?}", step.no));
            }
        }
    }

    /// A life begins, from nothing.
    fn begins(&mut self, step: &Step) {
        let fresh = !step.running && step.attempts == 0 && step.crashes == 0;
        self.expect(Rule::LegalSteps, fresh, || {
            format!("step {}: a life that begins with {} attempts", step.no, step.attempts)
        });
        self.counts = (0, 0);
        self.state = State::Pending;
    }

    fn claimed(&mut self, step: &Step) {
        self.looked_at(Rule::OneLease);
        let attempts =
            step.attempts == self.counts.0 + 1 && step.attempts <= step.most && step.crashes == self.counts.1;
        self.expect(Rule::AttemptsWithinLimit, attempts, || {
            format!("step {}: claimed as attempt {} of {}", step.no, step.attempts, step.most)
        });
        let node = self.workers.node_of(step.worker).cloned();
        let living = self.workers.lives_at(step.worker, step.no) && step.claim.is_some();
        let own = step.service == Service::Claim && node.is_some() && node == step.node;
        self.expect(Rule::ClaimedByTheLiving, living && own, || {
            format!("step {}: claimed by {:?} for the worker {:?} of {node:?}", step.no, step.node, step.worker)
        });
        self.life.claims.push((node.unwrap_or_else(|| "nobody".into()), step.attempts));
        self.counts.0 = step.attempts;
        self.state = State::Running { claim: step.claim, worker: step.worker };
    }

    /// Running to pending: retried, snoozed or given back by its holder, or rescued.
    fn came_back(&mut self, step: &Step, claim: Option<Uuid>, worker: Option<Uuid>) {
        self.expect(Rule::OneLease, step.before == (true, claim), || {
            format!("step {}: it came back from {:?}", step.no, step.before.1)
        });
        if step.service == Service::Upkeep {
            self.rescued(step, worker);
            let limit = self.history.limits.crashes;
            // The attempt is given back where a job that had crashed before died beside another of that kind.
            let in_doubt = self.counts.1 > 0 && step.attempts + 1 == self.counts.0;
            let in_time = step.crashes < limit && (step.attempts == self.counts.0 || in_doubt);
            self.expect(Rule::CrashesWithinLimit, in_time, || {
                format!("step {}: it goes on with {} crashes and {} attempts", step.no, step.crashes, step.attempts)
            });
        } else {
            self.settled_by(step, worker);
            // Charged, or refunded.
            let sound =
                step.crashes == self.counts.1 && (step.attempts == self.counts.0 || step.attempts + 1 == self.counts.0);
            self.expect(Rule::AttemptsWithinLimit, sound, || {
                format!("step {}: it came back with {} attempts", step.no, step.attempts)
            });
        }
        self.counts = (step.attempts, step.crashes);
        self.state = State::Pending;
    }

    fn failed(&mut self, step: &Step, worker: Option<Uuid>) {
        if step.service == Service::Upkeep {
            self.rescued(step, worker);
            let due = step.crashes >= self.history.limits.crashes || step.attempts >= step.most;
            self.expect(Rule::CrashesWithinLimit, due, || {
                format!(
                    "step {}: it failed with {} crashes and attempt {} of {}",
                    step.no, step.crashes, step.attempts, step.most
                )
            });
        } else {
            self.settled_by(step, worker);
            let due = step.reason.as_deref() != Some("exhausted") || step.attempts >= step.most;
            self.expect(Rule::AttemptsWithinLimit, due, || {
                format!("step {}: exhausted at attempt {} of {}", step.no, step.attempts, step.most)
            });
        }
        self.life.ending = Ending::Failed;
        self.state = State::Failed;
    }

    fn rescued(&mut self, step: &Step, worker: Option<Uuid>) {
        self.life.rescues += 1;
        let dead = self.workers.is_dead_at(worker, step.no) && step.crashes == self.counts.1 + 1;
        self.expect(Rule::RescuedFromTheDead, dead, || {
            format!("step {}: taken from {worker:?}, which had not died, or not counted as a crash", step.no)
        });
    }

    fn settled_by(&mut self, step: &Step, worker: Option<Uuid>) {
        let holder = self.workers.node_of(worker);
        let own =
            matches!(step.service, Service::Settle | Service::Pool) && holder.is_some() && holder == step.node.as_ref();
        self.expect(Rule::SettledByItsHolder, own, || {
            format!("step {}: settled by {:?} ({:?}), held by {holder:?}", step.no, step.node, step.service)
        });
    }

    fn looked_at(&mut self, rule: Rule) {
        self.verdict.looked_at(rule);
    }

    fn expect(&mut self, rule: Rule, holds: bool, what: impl FnOnce() -> String) {
        let job = self.job.clone();
        self.verdict.expect(rule, &job, holds, what);
    }

    fn breaks(&mut self, rule: Rule, what: impl FnOnce() -> String) {
        self.expect(rule, false, what);
        self.state = State::Confused;
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use crate::check::scene::{OTHER, Scene};
    use crate::check::{Rule, check};
    use crate::history::{Service, Step, What};

    /// A sound history breaks no rule, and each rule has looked at something in one of them.
    #[test]
    fn sound_histories_break_no_rule() {
        let mut forwarded = Scene::new();
        forwarded.forward();
        for scene in [Scene::new(), Scene::rescued(), Scene::retried(), Scene::redriven(), forwarded] {
            assert_eq!(scene.broken(), []);
        }
    }

    /// The second of two steps of one kind.
    fn second(scene: &mut Scene, which: impl Fn(&Step) -> bool) -> &mut Step {
        scene.history.steps.iter_mut().filter(|step| which(step)).nth(1).expect("a second one")
    }

    #[test]
    fn two_leases_at_once_are_a_violation() {
        let mut scene = Scene::rescued();
        scene.history.steps.retain(|step| step.service != Service::Upkeep);
        assert!(scene.broken().contains(&Rule::OneLease), "claimed while it was running");
        let mut scene = Scene::rescued();
        scene.the(What::Gone).claim = Some(Uuid::from_u128(99));
        assert_eq!(scene.broken(), [Rule::OneLease], "it left under another claim");
        let mut scene = Scene::retried();
        second(&mut scene, |step| step.what == What::Changed).before.1 = Some(Uuid::from_u128(99));
        assert_eq!(scene.broken(), [Rule::OneLease], "it came back from another claim");
    }

    #[test]
    fn a_claim_of_a_dead_or_unknown_worker_is_a_violation() {
        let mut scene = Scene::rescued();
        second(&mut scene, |step| step.service == Service::Claim).worker = Some(Uuid::from_u128(1));
        assert!(scene.broken().contains(&Rule::ClaimedByTheLiving), "it had died");
        let mut scene = Scene::new();
        scene.the(What::Changed).node = Some(OTHER.into());
        assert_eq!(scene.broken(), [Rule::ClaimedByTheLiving], "for another worker");
        let mut scene = Scene::new();
        scene.history.workers.clear();
        assert!(scene.broken().contains(&Rule::ClaimedByTheLiving), "there is no such worker");
    }

    #[test]
    fn a_settle_by_another_than_the_holder_is_a_violation() {
        for what in [What::Succeeded, What::Failed] {
            let mut scene = Scene::redriven();
            scene.the(what).node = Some(OTHER.into());
            assert_eq!(scene.broken(), [Rule::SettledByItsHolder]);
        }
        let mut scene = Scene::retried();
        second(&mut scene, |step| step.what == What::Changed).node = Some(OTHER.into());
        assert_eq!(scene.broken(), [Rule::SettledByItsHolder], "a retry is a settle too");
    }

    #[test]
    fn a_rescue_from_the_living_is_a_violation() {
        let mut scene = Scene::rescued();
        scene.history.workers.truncate(2);
        assert_eq!(scene.broken(), [Rule::RescuedFromTheDead]);
    }

    #[test]
    fn a_rescue_that_counts_no_crash_is_a_violation() {
        let mut scene = Scene::rescued();
        for step in &mut scene.history.steps {
            step.crashes = 0;
        }
        assert_eq!(scene.broken(), [Rule::RescuedFromTheDead]);
    }

    #[test]
    fn attempts_above_the_limit_or_not_counted_are_violations() {
        let mut scene = Scene::retried();
        for step in &mut scene.history.steps {
            step.most = 1;
        }
        assert_eq!(scene.broken(), [Rule::AttemptsWithinLimit], "two attempts of one");
        let mut scene = Scene::new();
        scene.the(What::Changed).attempts = 2;
        assert!(scene.broken().contains(&Rule::AttemptsWithinLimit), "it counted two");
    }

    /// Whatever the database holds is read and judged.
    #[test]
    fn attempts_below_nothing_are_a_violation() {
        let mut scene = Scene::retried();
        second(&mut scene, |step| step.what == What::Changed).attempts = -1;
        assert!(scene.broken().contains(&Rule::AttemptsWithinLimit));
    }

    #[test]
    fn exhausted_before_its_last_attempt_is_a_violation() {
        let mut scene = Scene::redriven();
        scene.the(What::Failed).reason = Some("exhausted".into());
        assert_eq!(scene.broken(), [Rule::AttemptsWithinLimit]);
    }

    #[test]
    fn a_job_that_goes_on_beyond_the_crash_limit_is_a_violation() {
        let mut scene = Scene::rescued();
        scene.history.limits.crashes = 1;
        assert_eq!(scene.broken(), [Rule::CrashesWithinLimit]);
    }

    #[test]
    fn a_change_of_what_has_ended_is_a_violation() {
        for what in [What::Made, What::Changed, What::Gone, What::Succeeded, What::Failed, What::Redriven, What::Broken]
        {
            let mut scene = Scene::new();
            let last = scene.history.steps.last().expect("steps").clone();
            scene.history.steps.push(Step { no: last.no + 1, what, ..last });
            assert!(scene.broken().contains(&Rule::FinalIsFinal), "{what:?}");
        }
    }

    /// A redrive is one transaction, and its life begins from nothing.
    #[test]
    fn a_redrive_that_carries_attempts_over_is_a_violation() {
        let mut scene = Scene::redriven();
        second(&mut scene, |step| step.what == What::Made).attempts = 1;
        assert!(scene.broken().contains(&Rule::LegalSteps));
        let mut scene = Scene::redriven();
        second(&mut scene, |step| step.what == What::Made).xid += 1;
        assert!(scene.broken().contains(&Rule::LegalSteps));
        assert_eq!(check(&Scene::redriven().history).redriven, 1);
    }

    #[test]
    fn a_step_that_there_is_not_is_a_violation() {
        let mut scene = Scene::new();
        scene.the(What::Changed).what = What::Made;
        assert!(scene.broken().contains(&Rule::LegalSteps));
    }

    #[test]
    fn a_job_that_does_not_end_is_a_violation() {
        let mut scene = Scene::redriven();
        let ends = |step: &Step| !matches!(step.what, What::Gone | What::Succeeded);
        let last = scene.history.steps.iter().rposition(ends).expect("a claim");
        scene.history.steps.truncate(last + 1);
        assert_eq!(scene.broken(), [Rule::EveryJobEnds]);
        let mut scene = Scene::new();
        scene.history.limits.stalled = 1;
        assert_eq!(scene.broken(), [Rule::EveryJobEnds]);
    }

    #[test]
    fn a_job_that_ends_otherwise_than_planned_is_a_violation() {
        let mut scene = Scene::redriven();
        let failed = scene.history.steps.iter().position(|step| step.what == What::Failed).expect("it failed");
        scene.history.steps.truncate(failed + 1);
        scene.history.executions.truncate(1);
        assert_eq!(scene.broken(), [Rule::EndsAsPlanned]);
    }
}
