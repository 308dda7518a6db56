//! Messages that carry their own script, and the stage that it is played on.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use outbox::prelude::*;
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;
use tokio::sync::watch;

use super::say;

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
pub(super) struct Execution<'a>(&'a Stage, &'static str, &'a str);

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

    pub(super) fn begin<'a>(&'a self, handler: &'static str, label: &'a str) -> (Execution<'a>, usize) {
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
    pub(super) async fn play(&self, handler: &'static str, asked: &Asked, it: It<'_, '_>) -> HandlerResult {
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
pub(super) struct It<'a, 't> {
    pub(super) attempt: u32,
    pub(super) tx: Option<&'a mut Tx<'t>>,
    pub(super) cancellation: Option<Cancellation>,
}

impl It<'_, '_> {
    pub(super) fn at(Attempt(attempt): Attempt) -> Self {
        Self { attempt, ..Self::default() }
    }
}

pub fn wait(gate: &str) -> [Do; 1] {
    [Do::Wait(gate.to_owned())]
}

pub fn fail(text: &str) -> Do {
    Do::Fail(text.to_owned())
}
