//! What the tests of the worker side share: messages that carry their own script, workers beside the test, and a look into
//! the tables.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use outbox::prelude::*;
use outbox::{EventId, OutboxBuilder, Registry, RunError};
use outbox_testing::{JobRow, Sandbox, eventually};
use serde::{Deserialize, Serialize};
use sqlx::types::Uuid;
use sqlx::{AssertSqlSafe, PgPool, Row as _};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// What an execution does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Do {
    Succeed,
    Fail(String),
    /// Fails with the text that the test put on the stage: one that no payload could carry.
    FailAsStaged,
    Panic(String),
    /// Waits until it is ended from outside.
    Hang,
    /// Waits until the test opens this gate.
    Wait(String),
    /// Takes so many milliseconds, and yields meanwhile.
    Slow(u64),
    /// Takes so many milliseconds, and blocks its thread.
    Block(u64),
    /// Blocks its thread until the test opens this gate, or for ten seconds.
    BlockUntil(String),
    /// Blocks its thread for so many milliseconds, and then waits until it is ended from outside.
    BlockThenHang(u64),
    /// Ends its process, once others run beside it.
    Abort,
    /// Takes memory until there is none left, once others run beside it.
    Exhaust,
    /// Calls itself until the stack is used up, once others run beside it.
    Overflow,
    Snooze(u64),
    RetryAfter(u64),
    Discard,
    Quarantine,
    /// Fails, and does not know whether it had its effect; behind this gate, if there is one.
    Unknown(Option<String>),
    /// Runs this in its transaction.
    Sql(String),
    /// Publishes a follow-up of this label in its transaction.
    Publish(String),
    /// Waits for the request to end early, then succeeds (`true`) or fails.
    Heed(bool),
}

/// Somebody asked for work to be done: execution number n does `plan[n - 1]`, later ones succeed.
#[derive(Debug, Clone, PartialEq)]
#[event("work.asked")]
pub struct Asked {
    #[subject]
    pub label: String,
    pub plan: Vec<Do>,
}

/// What a handler of [`Asked`] publishes.
#[derive(Debug, Clone, PartialEq)]
#[event("work.followed")]
pub struct Followed {
    #[subject]
    pub label: String,
}

/// A command.
#[derive(Debug, Clone, PartialEq)]
#[job("desk.letter")]
pub struct Letter {
    pub label: String,
}

/// What handlers did. Each clone is the same stage.
#[derive(Clone)]
pub struct Stage {
    notes: Arc<Mutex<Vec<String>>>,
    begun: Arc<Mutex<BTreeMap<String, usize>>>,
    running: Arc<Mutex<Running>>,
    gates: watch::Sender<HashSet<String>>,
    pub error: Arc<Mutex<Option<String>>>,
    pub effects: String,
    /// Tells the parent process too.
    aloud: bool,
}

#[derive(Default)]
struct Running {
    now: BTreeMap<&'static str, usize>,
    most: BTreeMap<&'static str, usize>,
    most_in_all: usize,
}

/// One execution under way; its end is noted, however it ends.
struct Execution<'a>(&'a Stage, &'static str, &'a str);

impl Drop for Execution<'_> {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap().now.entry(self.1).or_default() -= 1;
        self.0.note(format!("ended {} {}", self.1, self.2));
    }
}

impl Stage {
    pub fn new(effects: String, aloud: bool) -> Self {
        Self {
            notes: Arc::default(),
            begun: Arc::default(),
            running: Arc::default(),
            gates: watch::Sender::default(),
            error: Arc::default(),
            effects,
            aloud,
        }
    }

    pub fn note(&self, text: impl Into<String>) {
        let text = text.into();
        if self.aloud {
            say(&text);
        }
        self.notes.lock().unwrap().push(text);
    }

    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    /// The notes that begin so, without that beginning.
    pub fn noted(&self, prefix: &str) -> Vec<String> {
        self.notes().iter().filter_map(|note| note.strip_prefix(prefix)).map(str::to_owned).collect()
    }

    /// How often a handler was begun for a label.
    pub fn executions(&self, handler: &str, label: &str) -> usize {
        self.begun.lock().unwrap().get(&format!("{handler} {label}")).copied().unwrap_or_default()
    }

    /// The labels that a handler was begun for, in order.
    pub fn order(&self, handler: &str) -> Vec<String> {
        self.noted(&format!("began {handler} "))
    }

    pub fn running(&self) -> usize {
        self.running.lock().unwrap().now.values().sum()
    }

    pub fn most_at_once(&self, handler: &str) -> usize {
        self.running.lock().unwrap().most.get(handler).copied().unwrap_or_default()
    }

    pub fn most_in_all(&self) -> usize {
        self.running.lock().unwrap().most_in_all
    }

    pub fn open(&self, gate: &str) {
        self.gates.send_modify(|open| {
            open.insert(gate.to_owned());
        });
    }

    /// Waits until the test opens this gate.
    pub async fn opened(&self, gate: &str) {
        drop(self.gates.subscribe().wait_for(|open| open.contains(gate)).await);
    }

    fn begin<'a>(&'a self, handler: &'static str, label: &'a str) -> (Execution<'a>, usize) {
        let nth = {
            let mut begun = self.begun.lock().unwrap();
            let count = begun.entry(format!("{handler} {label}")).or_default();
            *count += 1;
            *count
        };
        {
            let mut running = self.running.lock().unwrap();
            let now = running.now.entry(handler).or_default();
            *now += 1;
            let (now, all) = (*now, running.now.values().sum());
            let most = running.most.entry(handler).or_default();
            *most = now.max(*most);
            running.most_in_all = running.most_in_all.max(all);
        }
        self.note(format!("began {handler} {label}"));
        (Execution(self, handler, label), nth)
    }

    pub async fn effect(&self, tx: &mut Tx<'_>, handler: &str, label: &str) -> Result<(), sqlx::Error> {
        let text = format!("insert into {} (handler, label) values ($1, $2)", self.effects);
        sqlx::query(AssertSqlSafe(text)).bind(handler).bind(label).execute(&mut **tx).await.map(drop)
    }

    /// Waits until others run too, or for half a second.
    async fn beside_others(&self) {
        let patience = Instant::now() + Duration::from_millis(500);
        while self.running() < 3 && Instant::now() < patience {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The same for a message of another kind.
    pub async fn play_by(&self, handler: &'static str, label: &str, plan: &[Do], attempt: Attempt) -> HandlerResult {
        self.play(handler, &Asked { label: label.to_owned(), plan: plan.to_vec() }, It::at(attempt)).await
    }

    /// Does what the plan says for this execution: its attempt, or how often it began in this process, whichever is more.
    async fn play(&self, handler: &'static str, asked: &Asked, it: It<'_, '_>) -> HandlerResult {
        let (_execution, nth) = self.begin(handler, &asked.label);
        let place = nth.max(usize::try_from(it.attempt)?) - 1;
        match asked.plan.get(place).cloned().unwrap_or(Do::Succeed) {
            Do::Succeed => {}
            Do::Fail(text) => return Err(text.into()),
            Do::FailAsStaged => return Err(self.error.lock().unwrap().clone().unwrap_or_default().into()),
            Do::Panic(text) => panic!("{text}"),
            Do::Hang => std::future::pending().await,
            Do::Wait(gate) => self.opened(&gate).await,
            Do::Slow(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Do::Block(millis) => std::thread::sleep(Duration::from_millis(millis)),
            Do::BlockUntil(gate) => {
                let patience = Instant::now() + Duration::from_secs(30);
                while !self.gates.borrow().contains(&gate) && Instant::now() < patience {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            Do::BlockThenHang(millis) => {
                std::thread::sleep(Duration::from_millis(millis));
                std::future::pending::<()>().await;
            }
            Do::Abort => {
                self.beside_others().await;
                std::process::abort();
            }
            Do::Exhaust => {
                self.beside_others().await;
                exhaust();
            }
            Do::Overflow => {
                self.beside_others().await;
                overflow(1);
            }
            Do::Snooze(millis) => return Err(Failure::snooze(Duration::from_millis(millis), "not now").into()),
            Do::RetryAfter(millis) => return Err(Failure::retry_after(Duration::from_millis(millis), "later").into()),
            Do::Discard => return Err(Failure::discard("gone").into()),
            Do::Quarantine => return Err(Failure::quarantine("broken").into()),
            Do::Unknown(gate) => {
                if let Some(gate) = gate {
                    self.opened(&gate).await;
                }
                return Err(Failure::outcome_unknown("no answer from the bank").into());
            }
            Do::Sql(text) => {
                let tx = it.tx.ok_or("this handler has no transaction")?;
                sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut **tx).await?;
            }
            Do::Publish(label) => {
                let tx = it.tx.ok_or("this handler has no transaction")?;
                Followed { label }.publish(&mut *tx).await?;
            }
            Do::Heed(well) => {
                it.cancellation.ok_or("this handler has no cancellation")?.cancelled().await;
                return if well { Ok(()) } else { Err("ended early".into()) };
            }
        }
        Ok(())
    }
}

/// Takes more memory than there is, without touching it. Where the process is not bounded it asks at last for more than any
/// machine has.
fn exhaust() {
    let mut hoard: Vec<Vec<u8>> = (0..256).map(|_| Vec::with_capacity(64 << 20)).collect();
    hoard.push(Vec::with_capacity(isize::MAX.unsigned_abs()));
    std::hint::black_box(&hoard);
}

fn overflow(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 512]);
    if room[0] == 0 { 0 } else { overflow(depth + 1) + room[1] }
}

/// What an execution has besides its message.
#[derive(Default)]
struct It<'a, 't> {
    attempt: u32,
    tx: Option<&'a mut Tx<'t>>,
    cancellation: Option<Cancellation>,
}

impl It<'_, '_> {
    fn at(Attempt(attempt): Attempt) -> Self {
        Self { attempt, ..Self::default() }
    }
}

#[subscriber(event = "work.asked", name = "desk.note", max_attempts = 3, backoff = fixed("100ms"))]
async fn note(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.note", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.copy", max_attempts = 3, backoff = fixed("100ms"))]
async fn copy(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.copy", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.once", max_attempts = 1)]
async fn once(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.once", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.single", max_attempts = 1)]
async fn single(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.single", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.narrow", concurrency = 2)]
async fn narrow(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.narrow", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.quick", max_attempts = 2, backoff = fixed("50ms"), timeout = "300ms")]
async fn quick(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.quick", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.long", timeout = "1h")]
async fn long(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.long", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.doubling", max_attempts = 3, backoff = exponential("400ms", max = "10s"))]
async fn doubling(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.doubling", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.patient", max_attempts = 8)]
async fn patient(
    asked: Asked,
    attempt: Attempt,
    cancellation: Cancellation,
    _key: IdempotencyKey,
    State(stage): State<Stage>,
) -> HandlerResult {
    stage.play("desk.patient", &asked, It { cancellation: Some(cancellation), ..It::at(attempt) }).await
}

#[subscriber(event = "work.asked", name = "shelf.fill", max_attempts = 3, backoff = fixed("100ms"))]
async fn fill(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("shelf.fill", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "order_item.pack", max_attempts = 3)]
async fn pack(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("order_item.pack", &asked, It::at(attempt)).await
}

/// An effect that is somebody else's, and must not be had twice.
#[subscriber(event = "work.asked", name = "bank.pay", aliases("bank.transfer"), unknown = park, backoff = fixed("100ms"))]
async fn pay(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("bank.pay", &asked, It::at(attempt)).await
}

/// The same with little patience.
#[subscriber(event = "work.asked", name = "bank.hasten", unknown = park, backoff = fixed("100ms"), timeout = "300ms")]
async fn hasten(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("bank.hasten", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "till.book", max_attempts = 3, backoff = fixed("100ms"))]
async fn book(asked: Asked, mut tx: Tx<'_>, attempt: Attempt, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "till.book", &asked.label).await?;
    stage.play("till.book", &asked, It { tx: Some(&mut tx), ..It::at(attempt) }).await
}

#[subscriber(event = "work.followed", name = "shelf.follow")]
async fn follow(
    followed: Followed,
    envelope: Envelope,
    _key: IdempotencyKey,
    State(stage): State<Stage>,
) -> HandlerResult {
    let (_execution, _) = stage.begin("shelf.follow", &followed.label);
    stage.note(format!("correlation {}", envelope.correlation()));
    if let Some(cause) = envelope.metadata.causation {
        stage.note(format!("causation {cause}"));
    }
    Ok(())
}

#[subscriber(job = "desk.letter", max_attempts = 3, backoff = fixed("100ms"))]
async fn letter(letter: Letter, envelope: Envelope, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    let (_execution, _) = stage.begin("desk.letter", &letter.label);
    stage.note(format!("letter {} {} v{}", envelope.id, envelope.name, envelope.version));
    if letter.label == "unknown" {
        return Err(Failure::outcome_unknown("the post says nothing").into());
    }
    if letter.label == "wait" {
        let _ = stage.gates.subscribe().wait_for(|open| open.contains("letters")).await;
    }
    Ok(())
}

/// A test's sandbox with a table of effects, and the stage of its handlers.
pub struct Floor {
    pub sandbox: Sandbox,
    pub stage: Stage,
}

/// The shortest lease there is.
pub const LEASE: Duration = Duration::from_secs(2);

impl Floor {
    pub async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.done (handler text not null, label text not null)").await;
        let stage = Stage::new(sandbox.table("done"), false);
        Self { sandbox, stage }
    }

    /// An outbox that links these handlers and no others, quick to poll, with a short lease.
    pub fn outbox(&self, handlers: &[&str]) -> OutboxBuilder {
        settings(self.sandbox.outbox(), handlers, self.stage.clone())
    }

    /// The same by way of another pool.
    pub fn outbox_on(&self, pool: PgPool, handlers: &[&str]) -> OutboxBuilder {
        settings(self.sandbox.outbox_on(pool), handlers, self.stage.clone())
    }

    /// A worker that links these handlers, running beside the test.
    pub async fn worker(&self, handlers: &[&str]) -> Worker {
        Worker::start(self.outbox(handlers).build().await.unwrap())
    }

    /// The job of an event and a handler.
    pub async fn job(&self, handler: &str, event: EventId) -> JobRow {
        let jobs = self.sandbox.jobs().await.of(handler);
        let job = jobs.0.iter().find(|job| job.event_id == Some(event));
        job.unwrap_or_else(|| panic!("no job of {handler} for {event}")).clone()
    }

    /// Waits until a job is in this status.
    pub async fn until(&self, handler: &str, event: EventId, status: &str) -> JobRow {
        eventually(&format!("the job of {handler} is {status}"), async || {
            Some(self.job(handler, event).await).filter(|job| job.status == status)
        })
        .await
    }

    /// Waits until no job is pending or running.
    pub async fn until_settled(&self) -> outbox_testing::Jobs {
        eventually("every job is settled", async || Some(self.sandbox.jobs().await).filter(|jobs| jobs.live() == 0))
            .await
    }

    /// Waits until a handler began for a label, so many times in all.
    pub async fn until_begun(&self, handler: &str, label: &str, times: usize) {
        eventually(&format!("{handler} began {times} times for {label}"), async || {
            (self.stage.executions(handler, label) >= times).then_some(())
        })
        .await;
    }

    /// Waits until a query answers this number.
    pub async fn until_number(&self, sql: &str, number: i64) {
        eventually(&format!("`{sql}` answers {number}"), async || {
            (self.sandbox.number(sql).await == number).then_some(())
        })
        .await;
    }

    pub async fn effects(&self, label: &str) -> i64 {
        self.sandbox.number(&format!("select count(*) from :schema.done where label = '{label}'")).await
    }

    /// The failed executions of a job in order: outcome and error.
    pub async fn history(&self, job: &JobRow) -> Vec<(String, Option<String>)> {
        let text =
            format!("select outcome, error from {} where job_id = $1 order by ended_at", self.sandbox.table("attempt"));
        let rows =
            sqlx::query(AssertSqlSafe(text)).bind(job.id.as_uuid()).fetch_all(self.sandbox.pool()).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// The text of a statement file with this schema filled in.
    pub fn fill(&self, text: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(text.replace(":schema.", &self.sandbox.table("")))
    }
}

pub fn settings(builder: OutboxBuilder, handlers: &[&str], stage: Stage) -> OutboxBuilder {
    builder
        .registry(Registry::linked().with_subscribers(|one| handlers.contains(&one.name)))
        .state(stage)
        .lease(LEASE)
        .poll_interval(Duration::from_millis(50))
        .shutdown_budget(Duration::from_millis(300))
}

/// Publishes in a transaction of its own.
pub async fn ask(outbox: &Outbox, label: &str, plan: impl Into<Vec<Do>>) -> EventId {
    let asked = Asked { label: label.to_owned(), plan: plan.into() };
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish(&mut tx, &asked).await.unwrap();
    tx.commit().await.unwrap();
    published.event_id
}

/// Publishes many in one transaction.
pub async fn ask_many(outbox: &Outbox, count: usize, plan: impl Into<Vec<Do>>) {
    let plan = plan.into();
    let asked: Vec<_> = (0..count).map(|n| Asked { label: format!("n{n}"), plan: plan.clone() }).collect();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &asked).await.unwrap();
    tx.commit().await.unwrap();
}

pub fn wait(gate: &str) -> [Do; 1] {
    [Do::Wait(gate.to_owned())]
}

pub fn fail(text: &str) -> Do {
    Do::Fail(text.to_owned())
}

/// A worker beside the test.
pub struct Worker {
    pub outbox: Outbox,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Worker {
    pub fn start(outbox: Outbox) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let running = outbox.clone();
        let task = tokio::spawn(async move { running.run(async { drop(stopped.await) }).await });
        Self { outbox, stop: Some(stop), task }
    }

    /// Asks it to end, and answers how long that took.
    pub async fn stop(mut self) -> Duration {
        let asked = Instant::now();
        drop(self.stop.take());
        self.task.await.unwrap().unwrap();
        asked.elapsed()
    }

    /// As `stop`, without waiting.
    pub fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

/// A line for the parent process.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody hears it any more: then the parent is gone, and this process ends by itself soon.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// The ids of the workers that stand registered and not dead.
pub async fn living_workers(floor: &Floor) -> Vec<Uuid> {
    let text = format!("select id from {} where dead_at is null order by started_at", floor.sandbox.table("worker"));
    sqlx::query_scalar(AssertSqlSafe(text)).fetch_all(floor.sandbox.pool()).await.unwrap()
}

/// A value that panics when it is dropped.
pub struct Explosive;

impl Drop for Explosive {
    fn drop(&mut self) {
        // A second panic on top of one would end the process.
        assert!(std::thread::panicking(), "a value that panics when it is dropped");
    }
}
