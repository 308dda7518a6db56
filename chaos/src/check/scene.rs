//! A small sound history for the tests, to be corrupted.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{Rule, check};
use crate::clock::{Monotonic, Wall};
use crate::history::{
    Effect, Execution, Fate, History, JobKey, Service, Step, Stored, Transaction, What, WorkerStep, WorkerWhat,
};
use crate::ledger::{How, Intended};
use crate::load::{CALLING, COUNTED, HANDLERS, TRANSACTIONAL};

/// The process that does everything, and the one that takes over.
pub(super) const WORKER: &str = "worker-1.1";
pub(super) const OTHER: &str = "worker-2.1";

const SECOND: u64 = 1_000_000_000;

/// A history in the making.
pub(super) struct Scene {
    pub(super) history: History,
    no: i64,
    id: u128,
}

impl Scene {
    /// One committed event with its two jobs: a transactional one, and one that calls outside.
    pub(super) fn new() -> Self {
        let mut scene = Self::empty();
        scene.message("parcel.forwarded", "one");
        scene
    }

    /// A job whose first worker died; its executions are the first two, and do not overlap.
    pub(super) fn rescued() -> Self {
        let mut scene = Self::empty();
        let job = scene.stored("trouble.panics", "one");
        let mut step = scene.made(&job);
        step = scene.claimed(&step, WORKER);
        scene.dies(WORKER);
        step = scene.back(&step, Service::Upkeep, OTHER);
        step = scene.claimed(&step, OTHER);
        scene.settled(&step, OTHER, Service::Settle);
        scene.ran(&job.key, WORKER, 1, 5, (9, How::Dropped));
        scene.ran(&job.key, OTHER, 2, 10, (11, How::Done));
        scene
    }

    /// A job that failed once and was tried again.
    pub(super) fn retried() -> Self {
        let mut scene = Self::empty();
        let job = scene.stored("trouble.panics", "one");
        let mut step = scene.made(&job);
        step = scene.claimed(&step, WORKER);
        step = scene.back(&step, Service::Settle, WORKER);
        step = scene.claimed(&step, WORKER);
        scene.settled(&step, WORKER, Service::Settle);
        scene.ran(&job.key, WORKER, 1, 5, (10, How::Failed));
        scene.ran(&job.key, WORKER, 2, 10, (11, How::Done));
        scene
    }

    /// A job that failed for good and was redriven, behind which it succeeded.
    pub(super) fn redriven() -> Self {
        let mut scene = Self::empty();
        let job = scene.stored("trouble.panics", "one");
        let mut step = scene.made(&job);
        step = scene.claimed(&step, WORKER);
        scene.failed(&step, WORKER, "quarantined");
        step = Step { what: What::Redriven, claim: None, running: false, service: Service::Pool, ..step };
        let xid = scene.push(step.clone()).xid;
        step = scene.push_in(xid, Step { what: What::Made, attempts: 0, worker: None, ..step });
        step = scene.claimed(&step, WORKER);
        scene.settled(&step, WORKER, Service::Settle);
        scene.ran(&job.key, WORKER, 1, 5, (6, How::Failed));
        scene.ran(&job.key, WORKER, 1, 10, (11, How::Done));
        scene
    }

    fn empty() -> Self {
        let mut scene = Self { history: History::default(), no: 0, id: 100 };
        for node in [WORKER, OTHER] {
            scene.worker(node, WorkerWhat::Registered);
        }
        scene
    }

    /// Another event, with a handler that publishes, and what that has published.
    pub(super) fn forward(&mut self) {
        self.message("parcel.sent", "two");
        for (kind, label) in [("parcel.forwarded", "two/forwarded"), ("courier.deliver", "two/deliver")] {
            self.message(kind, label);
            // The publisher has not meant these.
            self.history.transactions.pop();
            self.history.business.remove(label);
        }
    }

    /// A transaction of which nothing is there.
    pub(super) fn lost_transaction(&mut self, fate: Fate) {
        let messages = vec![Intended { kind: "parcel.sent".into(), label: "lost.0".into() }];
        self.history.transactions.push(Transaction { name: "lost".into(), messages, fate });
    }

    /// No step of this handler's jobs is there.
    pub(super) fn forget_job(&mut self, handler: &str) {
        self.history.steps.retain(|step| &*step.key.handler != handler);
    }

    /// This handler's job has another row, which took the same steps.
    pub(super) fn another_job(&mut self, handler: &str) {
        let steps = self.history.steps.iter().filter(|step| &*step.key.handler == handler);
        let twins: Vec<_> = steps.map(|step| Step { job: Uuid::from_u128(7), ..step.clone() }).collect();
        self.history.steps.extend(twins);
    }

    /// The rules that are broken, each once.
    pub(super) fn broken(&self) -> Vec<Rule> {
        let broken: BTreeSet<_> = check(&self.history).violations.into_iter().map(|one| one.rule).collect();
        broken.into_iter().collect()
    }

    /// The step of this kind, which there is once.
    pub(super) fn the(&mut self, what: What) -> &mut Step {
        self.history.steps.iter_mut().find(|step| step.what == what).expect("such a step")
    }

    /// A committed message, whose jobs have all succeeded.
    fn message(&mut self, kind: &str, label: &str) {
        let job = self.stored(kind, label);
        let (_, handlers) = HANDLERS.into_iter().find(|(one, _)| *one == kind).expect("a message that has handlers");
        for handler in handlers {
            let key = JobKey { handler: (*handler).into(), source: job.key.source };
            let id = if handlers.len() == 1 { job.job } else { self.fresh() };
            let step = self.made(&Step { job: id, key: key.clone(), ..job.clone() });
            let step = self.claimed(&step, WORKER);
            let transactional = TRANSACTIONAL.contains(handler);
            self.settled(&step, WORKER, if transactional { Service::Pool } else { Service::Settle });
            self.ran(&key, WORKER, 1, 1, (2, How::Done));
            if transactional {
                self.history.effects.push(Effect { job: key.clone(), claim: step.claim.expect("a claim") });
            }
            if COUNTED.contains(handler) {
                self.history.counted.insert(key.clone(), 1);
            }
            if CALLING.contains(handler) {
                self.history.calls.insert(text_of(&key), 1);
            }
        }
    }

    /// A committed message; answers a step to begin its job's with.
    fn stored(&mut self, kind: &str, label: &str) -> Step {
        let id = self.fresh();
        self.history.messages.push(Stored { id, kind: kind.into(), label: label.into() });
        let messages = vec![Intended { kind: kind.into(), label: label.into() }];
        let name = if self.history.transactions.is_empty() { "tx" } else { label };
        self.history.business.insert(name.into(), 1);
        self.history.transactions.push(Transaction { name: name.into(), messages, fate: Fate::Committed(Wall(0)) });
        Step {
            no: 0,
            xid: 0,
            node: None,
            service: Service::Pool,
            what: What::Made,
            job: id,
            key: JobKey { handler: kind.into(), source: id },
            running: false,
            claim: None,
            worker: None,
            attempts: 0,
            most: 12,
            crashes: 0,
            before: (false, None),
            reason: None,
        }
    }

    fn made(&mut self, step: &Step) -> Step {
        self.push(step.clone())
    }

    fn claimed(&mut self, step: &Step, node: &str) -> Step {
        let claim = Some(self.fresh());
        self.push(Step {
            what: What::Changed,
            running: true,
            claim,
            worker: Some(worker_of(node)),
            attempts: step.attempts + 1,
            before: (false, None),
            service: Service::Claim,
            node: Some(node.into()),
            ..step.clone()
        })
    }

    /// Back to pending: by a retry, or by a rescue, which counts a crash.
    fn back(&mut self, step: &Step, service: Service, by: &str) -> Step {
        let crashes = step.crashes + i32::from(service == Service::Upkeep);
        let before = (true, step.claim);
        self.push(Step { running: false, claim: None, before, crashes, service, node: Some(by.into()), ..step.clone() })
    }

    fn settled(&mut self, step: &Step, node: &str, service: Service) {
        self.left(step, What::Succeeded, node, service, None);
    }

    fn failed(&mut self, step: &Step, node: &str, reason: &str) {
        self.left(step, What::Failed, node, Service::Settle, Some(reason));
    }

    fn left(&mut self, step: &Step, what: What, node: &str, service: Service, reason: Option<&str>) {
        let gone = Step { what: What::Gone, service, node: Some(node.into()), ..step.clone() };
        let xid = self.push(gone.clone()).xid;
        self.push_in(xid, Step { what, running: false, claim: None, reason: reason.map(Into::into), ..gone });
    }

    fn dies(&mut self, node: &str) {
        self.worker(node, WorkerWhat::Died);
    }

    fn worker(&mut self, node: &str, what: WorkerWhat) {
        self.no += 1;
        self.history.workers.push(WorkerStep { no: self.no, what, worker: worker_of(node), node: node.into() });
    }

    fn ran(&mut self, job: &JobKey, node: &str, attempt: u32, began: u64, ended: (u64, How)) {
        self.history.executions.push(Execution {
            node: node.into(),
            job: job.clone(),
            key: text_of(job),
            attempt,
            began: Monotonic(began * SECOND),
            began_wall: Wall(1),
            ended: Some((Monotonic(ended.0 * SECOND), ended.1)),
        });
    }

    fn push(&mut self, step: Step) -> Step {
        let xid = u64::try_from(self.no + 1).expect("counted from nothing");
        self.push_in(xid, step)
    }

    fn push_in(&mut self, xid: u64, step: Step) -> Step {
        self.no += 1;
        let step = Step { no: self.no, xid, ..step };
        self.history.steps.push(step.clone());
        step
    }

    fn fresh(&mut self) -> Uuid {
        self.id += 1;
        Uuid::from_u128(self.id)
    }
}

fn worker_of(node: &str) -> Uuid {
    Uuid::from_u128(if node == WORKER { 1 } else { 2 })
}

fn text_of(job: &JobKey) -> String {
    format!("{}:{}", job.source, job.handler)
}
