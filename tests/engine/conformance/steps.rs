//! The statements against the mirror by which the model of the engine takes its steps: what only they decide, for every state.

use std::time::Duration;

use outbox_core::transition::{Answer, Counts, JobState, Next, Reason, answered};
use sqlx::types::Uuid;
use sqlx::{PgConnection, Row as _};

use super::mirror::{self, Room as Asked, Standing};
use super::{LIMIT, RESCUE_MARK, RESCUE_RETURN, claim, settle_batch, stands};
use crate::floor::Floor;

const STANDINGS: [Option<Standing>; 4] = [None, Some(Standing::Alive), Some(Standing::Expired), Some(Standing::Dead)];

/// A worker's row of this standing, or none.
async fn stand(floor: &Floor, c: &mut PgConnection, standing: Option<Standing>) -> Uuid {
    let worker = Uuid::new_v4();
    let (lease, dead) = match standing {
        None => return worker,
        Some(Standing::Alive) => ("1 hour", "null"),
        Some(Standing::Expired) => ("-1 s", "null"),
        Some(Standing::Dead) => ("-1 s", "now()"),
    };
    let text = format!(
        "insert into :schema.worker (id, name, ranges, expires_at, dead_at) values ($1, 'w', '{{}}', now() + interval '{lease}', {dead})"
    );
    sqlx::query(floor.fill(&text)).bind(worker).execute(c).await.unwrap();
    worker
}

/// A job in this state, with a due time in the past or in the future, running under `claim` of `worker`.
async fn write_in(
    floor: &Floor,
    c: &mut PgConnection,
    state: JobState,
    due: bool,
    held: (Uuid, Uuid),
    counts: Counts,
) -> Uuid {
    let text = floor.fill(
        "insert into :schema.job (id, event_id, job_type, attempts, max_attempts, crashes, status, claim_id, locked_by, locked_at,
                                  available_at, completed_at)
         values (gen_random_uuid(), gen_random_uuid(), 'desk.note', $1, $2, $3, $4, case when $4 = 'running' then $5::uuid end,
                 case when $4 = 'running' then $6::uuid end, case when $4 = 'running' then now() end,
                 now() + case when $7 then interval '-1 hour' else interval '1 hour' end,
                 case when $4 in ('succeeded', 'failed') then now() end)
         returning id",
    );
    let signed = |count: u32| i32::try_from(count).unwrap();
    let query = sqlx::query_scalar(text).bind(signed(counts.attempts)).bind(signed(counts.max_attempts));
    let query = query.bind(signed(counts.crashes)).bind(state.as_str()).bind(held.0).bind(held.1).bind(due);
    query.fetch_one(c).await.unwrap()
}

const PLAIN: Counts = Counts { attempts: 1, max_attempts: 3, crashes: 0 };

/// S0-22: whether a claim takes a job, for every standing of the worker, state and due time of the job, small count and free slot.
#[tokio::test]
async fn claim_takes_what_the_mirror_says() {
    let floor = Floor::new().await;
    let mut tx = floor.sandbox.pool().begin().await.unwrap();
    let mut taken = 0;
    for standing in STANDINGS {
        let worker = stand(&floor, &mut tx, standing).await;
        for state in JobState::ALL {
            for due in [true, false] {
                for (attempts, max_attempts, crashes) in
                    [(0, 2, 0), (1, 2, 0), (0, 1, 0), (1, 3, 1), (2, 3, 2), (5, 3, 0)]
                {
                    for (free, crashed_too) in [(true, true), (true, false), (false, true), (false, false)] {
                        let counts = Counts { attempts, max_attempts, crashes };
                        let id = write_in(&floor, &mut tx, state, due, (Uuid::new_v4(), Uuid::new_v4()), counts).await;
                        let slots = i32::from(free);
                        let claimed = claim(&floor, &mut tx, worker, (slots, slots, crashed_too)).await;
                        let room = Asked { free, crashed_too, crash_limit: LIMIT };
                        let expected = mirror::is_claimed(standing, state, due, counts, room);
                        assert_eq!(claimed.contains(&id), expected, "{standing:?} {state} {due} {counts:?} {room:?}");
                        taken += usize::from(expected);
                        let gone = floor.fill("delete from :schema.job_live");
                        sqlx::query(gone).execute(&mut *tx).await.unwrap();
                    }
                }
            }
        }
    }
    assert!(taken >= 10, "{taken}");
    tx.rollback().await.unwrap();
}

/// S0-23: whether a settle is accepted, for every state of the job, under its claim and under another.
#[tokio::test]
async fn settle_accepts_what_the_mirror_says() {
    let floor = Floor::new().await;
    let mut tx = floor.sandbox.pool().begin().await.unwrap();
    for state in JobState::ALL {
        for ours in [true, false] {
            for next in
                [Next::Succeeded(None), Next::Failed(Reason::Exhausted), Next::Retry(Duration::ZERO), Next::Return]
            {
                let (held, claim) = (Uuid::new_v4(), Uuid::new_v4());
                let claim = if ours { held } else { claim };
                let id = write_in(&floor, &mut tx, state, true, (held, Uuid::new_v4()), PLAIN).await;
                let settled = settle_batch(&floor, &mut tx, &[(id, claim, next)]).await.unwrap() == 1;
                let held = (state == JobState::Running).then_some(held);
                assert_eq!(settled, mirror::is_accepted(state, held, &claim), "{state} {ours} {next:?}");
                let after = stands(&floor, &mut tx, id).await.0;
                assert_eq!(
                    after,
                    if settled { next.state().as_str() } else { state.as_str() },
                    "{state} {ours} {next:?}"
                );
            }
        }
    }
    tx.rollback().await.unwrap();
}

/// S0-31: who is marked dead, whose jobs are taken back, whose row is buried, and what recover shows, for every standing of the
/// worker and state of the job.
#[tokio::test]
async fn rescue_bury_and_recover_do_what_the_mirror_says() {
    let floor = Floor::new().await;
    for standing in STANDINGS {
        for state in JobState::ALL {
            let mut tx = floor.sandbox.pool().begin().await.unwrap();
            let worker = stand(&floor, &mut tx, standing).await;
            let id = write_in(&floor, &mut tx, state, true, (Uuid::new_v4(), worker), PLAIN).await;
            let case = format!("{standing:?} {state}");
            let holder = (state == JobState::Running).then_some(worker);

            let recover = sqlx::query(floor.fill(include_str!("../../../outbox-postgres/src/step/recover.sql")));
            let shown = recover.bind(worker).bind(None::<Uuid>).bind(10).fetch_one(&mut *tx).await.unwrap();
            let (ids, rowless): (Vec<Uuid>, Vec<Uuid>) = (shown.get("ids"), shown.get("rowless"));
            assert_eq!(ids == [id], mirror::is_shown_as_held(state, holder, &worker), "{case}");
            assert_eq!(rowless == [worker], mirror::is_held_by_nobody(state, standing), "{case}");

            let bury = floor.fill(include_str!("../../../outbox-postgres/src/step/bury.sql"));
            let buried = sqlx::query(bury).bind(vec![worker]).execute(&mut *tx).await.unwrap().rows_affected() == 1;
            let expected = standing.is_some_and(|standing| mirror::is_buried(standing, holder.is_some()));
            assert_eq!(buried, expected, "{case}");

            let marked: Vec<Uuid> =
                sqlx::query_scalar(floor.fill(RESCUE_MARK)).bind(20).fetch_all(&mut *tx).await.unwrap();
            assert_eq!(marked == [worker], standing.is_some_and(mirror::is_marked), "{case}");
            let back = sqlx::query(floor.fill(RESCUE_RETURN))
                .bind(vec![worker])
                .bind(3)
                .bind(None::<Vec<Uuid>>)
                .fetch_all(&mut *tx)
                .await
                .unwrap();
            assert_eq!(back.len() == 1, mirror::is_taken_back(state, holder, &worker), "{case}");
            tx.rollback().await.unwrap();
        }
    }
}

/// S0-27: what unregister leaves of a worker's row, and what an operator can cancel, for every state.
#[tokio::test]
async fn unregister_and_cancel_do_what_the_mirror_says() {
    let floor = Floor::new().await;
    for state in JobState::ALL {
        let mut tx = floor.sandbox.pool().begin().await.unwrap();
        let worker = stand(&floor, &mut tx, Some(Standing::Alive)).await;
        write_in(&floor, &mut tx, state, true, (Uuid::new_v4(), worker), PLAIN).await;
        let unregister = floor.fill(include_str!("../../../outbox-postgres/src/step/unregister.sql"));
        sqlx::query(unregister).bind(worker).execute(&mut *tx).await.unwrap();
        let left = floor.fill("select expires_at <= now() from :schema.worker where id = $1");
        let left: Option<bool> = sqlx::query_scalar(left).bind(worker).fetch_optional(&mut *tx).await.unwrap();
        let expected = if mirror::is_removed(state == JobState::Running) { None } else { Some(true) };
        assert_eq!(left, expected, "{state}");
        tx.rollback().await.unwrap();
        let mut tx = floor.sandbox.pool().begin().await.unwrap();
        let id = write_in(&floor, &mut tx, state, true, (Uuid::new_v4(), worker), PLAIN).await;
        assert_eq!(called(&floor, &mut tx, "cancel($1, 'why')", id).await, mirror::is_cancelled(state), "{state}");
        tx.rollback().await.unwrap();
    }
}

async fn called(floor: &Floor, c: &mut PgConnection, function: &str, id: Uuid) -> bool {
    let text = floor.fill(&format!("select :schema.{function}"));
    sqlx::query_scalar(text).bind(id).fetch_one(c).await.unwrap()
}

/// Gives a failed job another reason, as its owner.
async fn for_this_reason(floor: &Floor, c: &mut PgConnection, id: Uuid, reason: Option<Reason>) {
    sqlx::query("select set_config('outbox.owner_work', 'on', true)").execute(&mut *c).await.unwrap();
    let text = floor.fill("update :schema.job_failed set reason = $2 where id = $1");
    sqlx::query(text).bind(id).bind(reason.map(Reason::as_str)).execute(&mut *c).await.unwrap();
    sqlx::query("select set_config('outbox.owner_work', 'off', true)").execute(c).await.unwrap();
}

/// S0-27, S2-72: what can be redriven, by force too, and what an owner's answer moves, and to where, for every state and reason.
#[tokio::test]
async fn redrive_and_resolve_do_what_the_mirror_says() {
    let floor = Floor::new().await;
    let reasons = [None, Some(Reason::Exhausted), Some(Reason::Crashed), Some(Reason::Expired), Some(Reason::Unknown)];
    for (state, reason) in JobState::ALL.into_iter().flat_map(|state| reasons.map(|reason| (state, reason))) {
        for (function, answer) in [
            ("redrive($1)", None),
            ("redrive($1, true)", None),
            ("resolve($1, true)", Some(Answer::TookEffect)),
            ("resolve($1, false)", Some(Answer::DidNot)),
        ] {
            let case = format!("{function} of a {state} job, reason {reason:?}");
            let mut tx = floor.sandbox.pool().begin().await.unwrap();
            let id = write_in(&floor, &mut tx, state, true, (Uuid::new_v4(), Uuid::new_v4()), PLAIN).await;
            for_this_reason(&floor, &mut tx, id, reason).await;
            let moves = match answer {
                None => mirror::is_redriven(state, reason),
                Some(_) => mirror::is_answered(state, reason),
            };
            assert_eq!(called(&floor, &mut tx, function, id).await, moves, "{case}");
            let (status, reason, attempts, crashes, ..) = stands(&floor, &mut tx, id).await;
            let next = answer.map_or(Next::Retry(Duration::ZERO), answered);
            let becomes = if moves { next.state() } else { state };
            assert_eq!(status, becomes.as_str(), "{case}");
            match next {
                _ if !moves => {}
                Next::Succeeded(expected) => assert_eq!(reason.as_deref(), expected.map(Reason::as_str), "{case}"),
                _ => assert_eq!((reason, attempts, crashes), (None, 0, 0), "{case}: a new life"),
            }
            tx.rollback().await.unwrap();
        }
    }
}
