//! A seeded fault run: several processes publish and work while faults of every kind meet them, and then a checker reads what
//! happened and says whether every guarantee held. `cargo xtask chaos --seed 1 --minutes 10`; for the project itself.
//!
//! # The rooms
//!
//! | room | holds |
//! |---|---|
//! | [`plan`] | which fault, when, on whom: drawn from the seed before anything runs |
//! | [`load`] | what is published, and handlers of every kind; each notes what it does |
//! | [`node`] | the processes: a worker, a publisher, and what both have in common |
//! | [`conductor`] | starts the database, the proxies and the processes, makes the faults happen, heals everything, waits for the end |
//! | [`ledger`] | what the programs saw: an append-only file a process, a line a write, which survives `SIGKILL` |
//! | [`history`] | what the database and the ledgers say happened, as values |
//! | [`check`] | the rules, as pure functions of a history: no clock, no database |
//! | [`report`] | the summary, for people and as JSON |
//!
//! # Two witnesses
//!
//! The *ledgers* know what the application saw: what it meant to commit and what it was answered, which handler began and how
//! it ended, which call went outside. The *audit trail* knows what the database did: triggers, which only this crate's database
//! has, write down each change of a job's row and of a worker's life in the order in which they took place. The engine knows of
//! neither. A violation is a contradiction between the two, or within one.
//!
//! # Replay
//!
//! The plan and everything that is published are functions of the seed; `--plan` prints the former. How processes, network and
//! server interleave is the machine's to say, so a failing seed fails again often, not always: the files that it leaves hold the
//! whole history.

pub mod check;
pub mod clock;
pub mod conductor;
pub mod history;
pub mod ledger;
pub mod load;
pub mod node;
pub mod plan;
pub mod report;
pub mod seeded;
