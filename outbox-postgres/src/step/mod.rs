//! What happens to a row: one verb, one function, one statement (or transaction), its SQL beside it, no timing.
//!
//! A step never calls a step; the services call steps in order.

use std::time::Duration;

use crate::schema::{Schema, Statement};

pub(crate) mod backfill;
pub(crate) mod bound;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod dead_letters;
pub(crate) mod declare;
pub(crate) mod depth;
pub(crate) mod enqueue;
pub(crate) mod failed;
pub(crate) mod ingest;
pub(crate) mod lease;
pub(crate) mod live;
pub(crate) mod look;
pub(crate) mod parked;
pub(crate) mod partition;
pub(crate) mod prune;
pub(crate) mod publish;
pub(crate) mod publish_known;
pub(crate) mod quarantine;
pub(crate) mod recover;
pub(crate) mod redrive;
pub(crate) mod register;
pub(crate) mod renew;
pub(crate) mod replay;
pub(crate) mod rescue;
pub(crate) mod restored;
pub(crate) mod retire;
pub(crate) mod run;
pub(crate) mod run_batch;
pub(crate) mod run_tx;
pub(crate) mod schedule;
pub(crate) mod schedule_declare;
pub(crate) mod schedule_status;
pub(crate) mod settle;
pub(crate) mod settle_tx;
pub(crate) mod survey;
pub(crate) mod vacuum;

/// Bounded by ten thousand years, so that no sum of times in the database overflows.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).min(10_000 * 366 * 86_400_000)
}

macro_rules! statements {
    ($($name:ident),* $(,)?) => {
        /// Every statement of the engine with the schema's name filled in, made once.
        #[derive(Debug)]
        pub(crate) struct Statements {
            $(pub(crate) $name: Statement,)*
        }

        impl Statements {
            pub(crate) fn new(schema: &Schema) -> Self {
                Self { $($name: schema.fill(include_str!(concat!(stringify!($name), ".sql"))),)* }
            }
        }
    };
}

statements!(
    backfill_barrier,
    backfill_batch,
    backfill_fence,
    backfill_lock,
    bound,
    bury,
    claim,
    dead_letters,
    declare,
    depth,
    enqueue,
    failed,
    ingest,
    inspect,
    inspect_attempts,
    lift,
    live,
    live_open,
    look,
    parked,
    publish,
    publish_keyed,
    publish_known,
    quarantine,
    quarantine_again,
    quarantine_get,
    quarantine_list,
    quarantine_remove,
    quarantine_take,
    recover,
    redrive_many,
    register,
    renew,
    replay,
    rescue_held,
    rescue_mark,
    rescue_return,
    restored,
    schedule_declare,
    schedule_due,
    schedule_lock,
    schedule_status,
    schedule_take,
    settle,
    settle_done,
    settle_tx,
    survey_connections,
    survey_handlers,
    survey_jobs,
    unregister,
    unregister_lock,
    vacuum_look,
);
