//! The statements in the database against the pure rules of `outbox_core::transition`, for every small count.

use std::time::Duration;

use outbox::{Backoff, Verdict};
use outbox_core::Outcome;
use outbox_core::transition::{Counts, Next, Reason, Risk, rescue, risk, settle};
use sqlx::types::Uuid;
use sqlx::{PgConnection, Row as _};

use crate::floor::Floor;

mod steps;

const CLAIM: &str = include_str!("../../outbox-postgres/src/step/claim.sql");
const SETTLE: &str = include_str!("../../outbox-postgres/src/step/settle.sql");
const SETTLE_DONE: &str = include_str!("../../outbox-postgres/src/step/settle_done.sql");
const RESCUE_MARK: &str = include_str!("../../outbox-postgres/src/step/rescue_mark.sql");
const RESCUE_RETURN: &str = include_str!("../../outbox-postgres/src/step/rescue_return.sql");

/// Writes a job with these counters: running under `claim` and `worker`, or pending without.
async fn write(floor: &Floor, c: &mut PgConnection, counts: Counts, held: Option<(Uuid, Uuid)>) -> Uuid {
    let text = floor.fill(
        "insert into :schema.job_live (id, event_id, job_type, attempts, max_attempts, crashes, status, claim_id, locked_by, locked_at, available_at)
         values (gen_random_uuid(), gen_random_uuid(), 'desk.note', $1, $2, $3, case when $4::uuid is null then 'pending' else 'running' end,
                 $4, $5, case when $4::uuid is null then null else now() end, now() - interval '1 hour')
         returning id",
    );
    let signed = |count: u32| i32::try_from(count).unwrap();
    let query = sqlx::query_scalar(text).bind(signed(counts.attempts)).bind(signed(counts.max_attempts));
    let (claim, worker) = held.unzip();
    query.bind(signed(counts.crashes)).bind(claim).bind(worker).fetch_one(c).await.unwrap()
}

/// What stands of a job: status, reason, attempts, crashes, milliseconds until it is due, whether it is held.
type Stands = (String, Option<String>, u32, u32, i64, bool);

async fn stands(floor: &Floor, c: &mut PgConnection, id: Uuid) -> Stands {
    let text = floor.fill(
        "select status, reason, attempts, crashes, (extract(epoch from available_at - now()) * 1000)::bigint, claim_id is not null
         from :schema.job where id = $1",
    );
    let row = sqlx::query(text).bind(id).fetch_one(c).await.unwrap();
    let unsigned = |value: i32| u32::try_from(value).unwrap();
    (row.get(0), row.get(1), unsigned(row.get(2)), unsigned(row.get(3)), row.get(4), row.get(5))
}

const HOUR_AGO: i64 = -3_600_000;

/// What must stand of a job that was running with these counters, behind `next`.
fn expected(counts: Counts, next: Next, crashes: u32) -> Stands {
    let status = next.state().as_str().to_owned();
    let millis = |delay: Duration| i64::try_from(delay.as_millis()).unwrap();
    let (reason, attempts, due) = match next {
        Next::Succeeded(reason) => (reason, counts.attempts, HOUR_AGO),
        Next::Failed(reason) => (Some(reason), counts.attempts, HOUR_AGO),
        Next::Retry(delay) => (None, counts.attempts, millis(delay)),
        Next::Snooze(delay) => (None, counts.attempts - 1, millis(delay)),
        Next::Return => (None, counts.attempts - 1, HOUR_AGO),
    };
    (status, reason.map(|reason| reason.as_str().to_owned()), attempts, crashes, due, false)
}

fn outcomes() -> Vec<Outcome> {
    let (later, soon) = (Duration::from_secs(7), Duration::from_secs(5));
    let verdicts = [
        Verdict::Retry,
        Verdict::RetryAfter(soon),
        Verdict::Snooze(later),
        Verdict::Discard,
        Verdict::Quarantine,
        Verdict::Unknown,
    ];
    let failed = verdicts.map(|verdict| Outcome::Failed { verdict, error: "boom".into() });
    [Outcome::Done, Outcome::Skipped].into_iter().chain(failed).collect()
}

fn all_counts() -> Vec<Counts> {
    let mut all = Vec::new();
    for max_attempts in 1..=4 {
        for attempts in 1..=5 {
            for crashes in 0..=3 {
                all.push(Counts { attempts, max_attempts, crashes });
            }
        }
    }
    all
}

/// A settlement as the client words it.
fn worded(next: Next) -> (&'static str, i64, Option<&'static str>) {
    match next {
        Next::Succeeded(reason) => ("succeeded", 0, reason.map(Reason::as_str)),
        Next::Failed(reason) => ("failed", 0, Some(reason.as_str())),
        Next::Retry(delay) => ("retry", i64::try_from(delay.as_millis()).unwrap(), None),
        Next::Snooze(delay) => ("snooze", i64::try_from(delay.as_millis()).unwrap(), None),
        Next::Return => ("return", 0, None),
    }
}

/// Settles a batch; answers how many were settled.
pub async fn settle_batch(
    floor: &Floor,
    c: &mut PgConnection,
    batch: &[(Uuid, Uuid, Next)],
) -> Result<usize, sqlx::Error> {
    let words: Vec<_> = batch.iter().map(|(_, _, next)| worded(*next)).collect();
    let rows = sqlx::query(floor.fill(SETTLE))
        .bind(batch.iter().map(|one| one.0).collect::<Vec<_>>())
        .bind(batch.iter().map(|one| one.1).collect::<Vec<_>>())
        .bind(words.iter().map(|word| word.0).collect::<Vec<_>>())
        .bind(words.iter().map(|word| word.1).collect::<Vec<_>>())
        .bind(words.iter().map(|word| word.2).collect::<Vec<_>>())
        .bind(vec![Some("boom"); batch.len()])
        .bind(vec![1_i64; batch.len()])
        .fetch_all(c)
        .await?;
    Ok(rows.len())
}

/// S0-5, S0-23, S0-24, S0-26: settle does to the row what the rule says, for every outcome and every small count, in one mixed
/// batch; and when it is told to retry a job without an attempt left, the row's own limit wins.
#[tokio::test]
async fn settle_follows_the_rule() {
    let floor = Floor::new().await;
    let mut tx = floor.sandbox.pool().begin().await.unwrap();
    let backoff = Backoff::fixed(Duration::from_secs(3));
    let (mut batch, mut expectations) = (Vec::new(), Vec::new());
    for counts in all_counts() {
        let decided = outcomes().into_iter().map(|outcome| {
            let next = settle(counts, &outcome, backoff, 0.0);
            (next, next)
        });
        let always_retry = settle(counts, &outcomes()[2], backoff, 0.0);
        let rest = [(Next::Return, Next::Return), (Next::Retry(Duration::from_secs(3)), always_retry)];
        for (said, becomes) in decided.chain(rest) {
            let (claim, worker) = (Uuid::new_v4(), Uuid::new_v4());
            let id = write(&floor, &mut tx, counts, Some((claim, worker))).await;
            batch.push((id, claim, said));
            expectations.push((id, counts, said, expected(counts, becomes, counts.crashes)));
        }
    }
    assert_eq!(settle_batch(&floor, &mut tx, &batch).await.unwrap(), batch.len());
    for (id, counts, said, expected) in expectations {
        assert_eq!(stands(&floor, &mut tx, id).await, expected, "{said:?} of {counts:?}");
    }
    tx.rollback().await.unwrap();
}

/// S0-23: the statement for jobs that succeeded with nothing more to say leaves what the general one does; a job that is not held under
/// this claim any more is not touched, and the answer says which were settled as soon as it is not all.
#[tokio::test]
async fn settle_of_plain_successes_follows_the_rule() {
    let floor = Floor::new().await;
    let mut tx = floor.sandbox.pool().begin().await.unwrap();
    let (mut ids, mut claims, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for counts in all_counts() {
        let (claim, worker) = (Uuid::new_v4(), Uuid::new_v4());
        let id = write(&floor, &mut tx, counts, Some((claim, worker))).await;
        ids.push(id);
        claims.push(claim);
        all.push((id, counts));
    }
    assert_eq!(settle_done(&floor, &mut tx, &ids, &claims).await, (ids.len(), None));
    for (id, counts) in all {
        let done = expected(counts, Next::Succeeded(None), counts.crashes);
        assert_eq!(stands(&floor, &mut tx, id).await, done, "{counts:?}");
    }
    let counts = Counts { attempts: 1, max_attempts: 3, crashes: 0 };
    let (mine, worker) = (Uuid::new_v4(), Uuid::new_v4());
    let held = write(&floor, &mut tx, counts, Some((mine, worker))).await;
    let of_another = write(&floor, &mut tx, counts, Some((Uuid::new_v4(), worker))).await;
    let pending = write(&floor, &mut tx, counts, None).await;
    let (asked, claims) = ([of_another, held, pending, ids[0]], [mine; 4]);
    assert_eq!(settle_done(&floor, &mut tx, &asked, &claims).await, (1, Some(vec![held])));
    assert_eq!(stands(&floor, &mut tx, of_another).await.0, "running");
    assert_eq!(stands(&floor, &mut tx, pending).await.0, "pending");
    assert_eq!(settle_done(&floor, &mut tx, &asked, &claims).await, (0, Some(Vec::new())));
    tx.rollback().await.unwrap();
}

async fn settle_done(floor: &Floor, c: &mut PgConnection, ids: &[Uuid], claims: &[Uuid]) -> (usize, Option<Vec<Uuid>>) {
    let row = sqlx::query(floor.fill(SETTLE_DONE)).bind(ids).bind(claims).fetch_one(c).await.unwrap();
    (usize::try_from(row.get::<i64, _>(0)).unwrap(), row.get(1))
}

/// S0-31, B19: rescue does to the row what the rule says, for every small count and crash limit, whether its worker held other jobs
/// that had crashed before or none: the crash counts, the attempt stays charged unless the guilt is in doubt, and the job ends as
/// failed, reason crashed, when its attempts or its crashes are used up. S2-72: that of a handler that the catalogue has as one that parks
/// what is unknown, by its present name or by an earlier one, ends as failed, reason unknown, whatever its counters.
#[tokio::test]
async fn rescue_follows_the_rule() {
    let floor = Floor::new().await;
    let catalogue = [None, Some(("desk.note", "{}")), Some(("desk.renamed", "{desk.older,desk.note}"))];
    let cases = [1, 2, 3, 4].into_iter().flat_map(|limit| [(limit, false), (limit, true)]);
    for ((limit, in_doubt), parking) in cases.flat_map(|case| catalogue.map(|parking| (case, parking))) {
        let mut tx = floor.sandbox.pool().begin().await.unwrap();
        if let Some((handler, aliases)) = parking {
            let text =
                "insert into :schema.subscription (handler, aliases, source, kind, max_attempts, priority, parks)
                        values ($1, $2::text[], 'work.asked', 'event', 3, 1, true)";
            sqlx::query(floor.fill(text)).bind(handler).bind(aliases).execute(&mut *tx).await.unwrap();
        }
        let (mut written, mut dead) = (Vec::new(), vec![Uuid::new_v4()]);
        for counts in all_counts() {
            if !in_doubt {
                dead.push(Uuid::new_v4());
            }
            let held = Some((Uuid::new_v4(), *dead.last().unwrap()));
            written.push((counts, write(&floor, &mut tx, counts, held).await));
        }
        let query = sqlx::query(floor.fill(RESCUE_RETURN)).bind(&dead).bind(limit).bind(None::<Vec<Uuid>>);
        assert_eq!(query.fetch_all(&mut *tx).await.unwrap().len(), written.len());
        for (counts, id) in written {
            let next = rescue(counts, u32::try_from(limit).unwrap(), in_doubt, parking.is_some());
            let (status, reason, attempts, crashes, mut due, held) = expected(counts, next, counts.crashes + 1);
            if next == Next::Return {
                due = 0;
            }
            let expected = (status, reason, attempts, crashes, due, held);
            let case = format!("{counts:?}, limit {limit}, in doubt: {in_doubt}, parking: {parking:?}");
            assert_eq!(stands(&floor, &mut tx, id).await, expected, "{case}");
        }
        tx.rollback().await.unwrap();
    }
}

/// The crash limit of the claims here.
const LIMIT: u32 = 3;

/// What a claim may take.
struct Room {
    free: i32,
    free_in_all: i32,
    crashed_too: bool,
}

pub async fn claim(floor: &Floor, c: &mut PgConnection, worker: Uuid, room: (i32, i32, bool)) -> Vec<Uuid> {
    let room = Room { free: room.0, free_in_all: room.1, crashed_too: room.2 };
    sqlx::query(floor.fill(CLAIM))
        .bind(worker)
        .bind(Uuid::new_v4())
        .bind(vec!["desk.note"])
        .bind(vec![1])
        .bind(vec![0])
        .bind(vec![1000])
        .bind(vec![room.free])
        .bind(room.free_in_all)
        .bind(room.crashed_too)
        .bind(1000)
        .bind(Vec::<String>::new())
        .bind(Vec::<String>::new())
        .bind(vec![0])
        .bind(vec![room.free])
        .bind(i32::try_from(LIMIT).unwrap())
        .bind(Vec::<f64>::new())
        .fetch_all(c)
        .await
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect()
}

pub async fn register(floor: &Floor, c: &mut PgConnection, lease: &str) -> Uuid {
    let worker = Uuid::new_v4();
    let text = format!(
        "insert into :schema.worker (id, name, ranges, expires_at) values ($1, 'one', '{{}}', now() + interval '{lease}')"
    );
    sqlx::query(floor.fill(&text)).bind(worker).execute(c).await.unwrap();
    worker
}

/// S0-22, S0-31: the claim takes a job by the risk that the rule reads from its counters, for every small count: without a free
/// slot only those that may wait, with one also those on their last attempt, and of the crashed ones at most one. The claiming
/// statement itself makes them running, says who holds them, and counts the attempt.
#[tokio::test]
async fn claim_follows_the_rule() {
    let floor = Floor::new().await;
    for room in [(0, 0, true), (100, 100, false), (100, 100, true), (2, 100, false), (100, 3, false)] {
        let mut tx = floor.sandbox.pool().begin().await.unwrap();
        let worker = register(&floor, &mut tx, "10 s").await;
        let mut written = Vec::new();
        for counts in all_counts() {
            let counts = Counts { attempts: counts.attempts - 1, ..counts };
            written.push((counts, write(&floor, &mut tx, counts, None).await));
        }
        let claimed = claim(&floor, &mut tx, worker, room).await;
        let taken = |wanted: Risk| {
            let of = |(counts, _): &&(Counts, Uuid)| {
                risk(counts.attempts, counts.max_attempts, counts.crashes, LIMIT) == wanted
            };
            let all: Vec<_> = written.iter().filter(of).collect();
            (all.iter().filter(|(_, id)| claimed.contains(id)).count(), all.len())
        };
        let (free, free_in_all, crashed_too) = room;
        let (harmless, of_them) = taken(Risk::None);
        assert_eq!(harmless, of_them, "what may wait is taken whatever is free: {room:?}");
        let slots = usize::try_from(free.min(free_in_all)).unwrap();
        let (last, of_them) = taken(Risk::Exposed);
        let (suspects, _) = taken(Risk::Alone);
        assert_eq!(suspects, usize::from(crashed_too && slots > 0), "{room:?}");
        assert!(
            last + suspects <= slots && (last == of_them || last + suspects == slots || suspects == 1),
            "{last} of {of_them} with {room:?}"
        );
        for (counts, id) in &written {
            let (status, _, executions, crashes, _, is_held) = stands(&floor, &mut tx, *id).await;
            let is_ours = claimed.contains(id);
            let expected = if is_ours { ("running", counts.attempts + 1) } else { ("pending", counts.attempts) };
            assert_eq!(
                (status.as_str(), executions, crashes, is_held),
                (expected.0, expected.1, counts.crashes, is_ours)
            );
        }
        tx.rollback().await.unwrap();
    }
}

/// What only the statements decide, as functions that the model of the engine takes its steps by.
#[path = "../../outbox-core/tests/model/mirror.rs"]
mod mirror;
