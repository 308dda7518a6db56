//! settle: fenced by the claim, and never held up by one row.

use std::time::Duration;

use outbox_core::transition::{Next, Reason};
use outbox_testing::eventually;
use outbox_testing::fault::Point;
use sqlx::types::Uuid;

use crate::conformance::{claim, register, settle_batch};
use crate::floor::{Do, Floor, Worker, ask, ask_many, fail, wait};
use crate::proxy;

const SETTLE_TX: &str = include_str!("../../outbox-postgres/src/step/settle_tx.sql");
const RENEW: &str = include_str!("../../outbox-postgres/src/step/renew.sql");
const RESCUE_MARK: &str = include_str!("../../outbox-postgres/src/step/rescue_mark.sql");
const RESCUE_RETURN: &str = include_str!("../../outbox-postgres/src/step/rescue_return.sql");

/// S1-50, S0-23, B6: a worker whose job was taken over writes nothing: success, failure, retry and return under the old claim touch no
/// row, nor does the completion in a handler's transaction, nor its renewal; the new holder's row stands as it was.
#[tokio::test]
async fn a_stale_worker_changes_nothing() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    ask(&outbox, "a", []).await;
    let mut c = floor.sandbox.pool().acquire().await.unwrap();
    let stale = register(&floor, &mut c, "10 s").await;
    let job = claim(&floor, &mut c, stale, (1, 1, true)).await[0];
    let of_job = floor.fill("select claim_id from :schema.job_live where id = $1");
    let old: Uuid = sqlx::query_scalar(of_job).bind(job).fetch_one(&mut *c).await.unwrap();
    floor.sandbox.execute("update :schema.worker set expires_at = now() - interval '1 s'").await;
    let mut tx = floor.sandbox.pool().begin().await.unwrap();
    let dead: Vec<Uuid> = sqlx::query_scalar(floor.fill(RESCUE_MARK)).bind(20).fetch_all(&mut *tx).await.unwrap();
    sqlx::query(floor.fill(RESCUE_RETURN)).bind(&dead).bind(3).bind(None::<Vec<Uuid>>).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    let fresh = register(&floor, &mut c, "10 s").await;
    assert_eq!(claim(&floor, &mut c, fresh, (1, 1, true)).await, [job]);
    let row = async || {
        let text = floor.fill("select l::text from :schema.job_live l");
        sqlx::query_scalar::<_, String>(text).fetch_one(floor.sandbox.pool()).await.unwrap()
    };
    let before = row().await;
    let second = Duration::from_secs(1);
    for next in [
        Next::Succeeded(None),
        Next::Failed(Reason::Exhausted),
        Next::Retry(second),
        Next::Snooze(second),
        Next::Return,
    ] {
        assert_eq!(settle_batch(&floor, &mut c, &[(job, old, next)]).await.unwrap(), 0, "{next:?}");
    }
    let mut tx = floor.sandbox.pool().begin().await.unwrap();
    let named = format!("set local outbox.claim = '{old}'");
    sqlx::query(sqlx::AssertSqlSafe(named)).execute(&mut *tx).await.unwrap();
    let in_transaction =
        sqlx::query_as(floor.fill(SETTLE_TX)).bind(job).bind(old).bind("desk.note").bind(job).bind(old);
    let answer: (bool, bool, bool) = in_transaction.fetch_one(&mut *tx).await.unwrap();
    assert_eq!(answer, (true, true, false), "the same transaction, the first mark, but not its claim");
    tx.rollback().await.unwrap();
    let renewed = sqlx::query(floor.fill(RENEW)).bind(stale).bind(10_000_i64).fetch_optional(&mut *c).await.unwrap();
    assert!(renewed.is_none(), "its lease is not renewed either");
    assert_eq!(row().await, before);
}

/// Q1: a worker that settles between the two statements of a rescue keeps what it settled: the rescue finds nothing to return,
/// and no attempt is charged.
#[tokio::test]
async fn a_rescue_does_not_undo_what_was_settled_meanwhile() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let mut c = floor.sandbox.pool().acquire().await.unwrap();
    let slow = register(&floor, &mut c, "10 s").await;
    let job = claim(&floor, &mut c, slow, (1, 1, true)).await[0];
    let held: Uuid =
        sqlx::query_scalar(floor.fill("select claim_id from :schema.job_live")).fetch_one(&mut *c).await.unwrap();
    floor.sandbox.execute("update :schema.worker set expires_at = now() - interval '1 s'").await;
    let mut rescue = floor.sandbox.pool().begin().await.unwrap();
    let dead: Vec<Uuid> = sqlx::query_scalar(floor.fill(RESCUE_MARK)).bind(20).fetch_all(&mut *rescue).await.unwrap();
    assert_eq!(dead, [slow]);
    assert_eq!(settle_batch(&floor, &mut c, &[(job, held, Next::Succeeded(None))]).await.unwrap(), 1);
    let back = sqlx::query(floor.fill(RESCUE_RETURN))
        .bind(&dead)
        .bind(3)
        .bind(None::<Vec<Uuid>>)
        .fetch_all(&mut *rescue)
        .await
        .unwrap();
    rescue.commit().await.unwrap();
    assert!(back.is_empty());
    let job = floor.job("desk.note", event).await;
    assert_eq!((job.status.as_str(), job.attempts, job.crashes), ("succeeded", 1, 0));
}

/// Q1: settle, rescue and cancel of the same rows at the same time refuse nobody (no 40001) and end each job once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settle_rescue_and_cancel_meet_without_an_error() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    for round in 0..15 {
        ask_many(&outbox, 20, []).await;
        let mut c = floor.sandbox.pool().acquire().await.unwrap();
        let worker = register(&floor, &mut c, "10 s").await;
        let jobs = claim(&floor, &mut c, worker, (1000, 1000, true)).await;
        assert_eq!(jobs.len(), 20, "round {round}");
        let of_worker = floor.fill("select claim_id from :schema.job_live where locked_by = $1 limit 1");
        let held: Uuid = sqlx::query_scalar(of_worker).bind(worker).fetch_one(&mut *c).await.unwrap();
        let batch: Vec<_> = jobs.iter().map(|job| (*job, held, Next::Succeeded(None))).collect();
        let rescue = async {
            let mut other = floor.sandbox.pool().acquire().await.unwrap();
            let query = sqlx::query(floor.fill(RESCUE_RETURN)).bind(vec![worker]).bind(1).bind(None::<Vec<Uuid>>);
            query.fetch_all(&mut *other).await.unwrap().len()
        };
        let cancel = async {
            let mut cancelled = 0;
            for job in jobs.iter().rev() {
                cancelled += usize::from(outbox.cancel((*job).into(), "meanwhile").await.is_ok());
            }
            cancelled
        };
        let (settled, rescued, cancelled) = tokio::join!(settle_batch(&floor, &mut c, &batch), rescue, cancel);
        assert_eq!(settled.unwrap() + rescued + cancelled, 20, "round {round}: each job ended once");
    }
    assert_eq!(floor.sandbox.jobs().await.live(), 0);
}

/// Q13: an error's text with a NUL, with control characters, or of a megabyte does not keep its job from being settled: it is
/// stored made fit, the original length noted.
#[tokio::test]
async fn any_error_text_can_be_stored() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.once"]).await;
    let texts = ["a\0b", "\u{1b}[31mred\r\u{7}", &"é".repeat(500_000), "", "\u{fffe}\u{10ffff}\u{202e}"];
    for (n, text) in texts.iter().enumerate() {
        let event = ask(&worker.outbox, &format!("a{n}"), []).await;
        floor.until("desk.once", event, "succeeded").await;
        *floor.stage.error.lock().unwrap() = Some((*text).to_owned());
        let event = ask(&worker.outbox, &format!("b{n}"), [Do::FailAsStaged]).await;
        let job = floor.until("desk.once", event, "failed").await;
        let stored = job.last_error.unwrap();
        assert!(stored.len() <= 8 * 1024 && !stored.contains(['\0', '\u{1b}', '\r', '\u{7}']), "{stored}");
        if text.len() > 8 * 1024 {
            assert!(stored.ends_with("(cut: 1000000 bytes)"), "{}", &stored[stored.len() - 40..]);
        }
    }
    worker.stop().await;
}

/// S0-29: a job whose row somebody else has locked delays only its own settling; the others of its batch are settled while the
/// lock is held, and it is settled, once, when the lock is gone.
#[tokio::test]
async fn a_locked_row_delays_only_itself() {
    let floor = Floor::new().await;
    let worker = Worker::start(floor.outbox(&["desk.note"]).lease(Duration::from_secs(30)).build().await.unwrap());
    ask_many(&worker.outbox, 10, wait("end")).await;
    eventually("all ten run", async || (floor.stage.running() == 10).then_some(())).await;
    let mut other = floor.sandbox.pool().begin().await.unwrap();
    let lock = floor.fill("select id from :schema.job_live order by id limit 1 for update");
    let locked: Uuid = sqlx::query_scalar(lock).fetch_one(&mut *other).await.unwrap();
    floor.stage.open("end");
    floor.until_number("select count(*) from :schema.job where status = 'succeeded'", 9).await;
    let still = format!("select count(*) from :schema.job where status = 'running' and id = '{locked}'");
    assert_eq!(floor.sandbox.number(&still).await, 1);
    other.rollback().await.unwrap();
    let jobs = floor.until_settled().await;
    assert!(jobs.0.iter().all(|job| job.status == "succeeded" && job.attempts == 1));
    worker.stop().await;
}

/// O9: when a settle does not arrive, its answer is lost, or the connection breaks under it, the same outcomes are sent again and nothing is
/// run twice: no outcome is lost.
#[tokio::test]
async fn a_broken_connection_loses_no_outcome() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note", "desk.once"]).lease(Duration::from_secs(30));
    let worker = Worker::start(outbox.build().await.unwrap());
    let unsent = proxy.cut_at(Point::before("settle").every_time());
    ask_many(&worker.outbox, 40, [fail("once")]).await;
    let cut = async {
        eventually("three did not arrive", async || (unsent.reached() >= 3).then_some(())).await;
        let lost = proxy.cut_at(proxy::committed("settle").every_time());
        drop(unsent);
        eventually("three answers were lost", async || (lost.reached() >= 3).then_some(())).await;
        drop(lost);
        proxy.of("outbox settle").cut();
    };
    let (jobs, ()) = tokio::join!(floor.until_settled(), cut);
    worker.stop().await;
    let (note, once) = (jobs.of("desk.note"), jobs.of("desk.once"));
    assert!(note.0.iter().all(|job| job.status == "succeeded" && job.attempts == 2 && job.crashes == 0), "{note:#?}");
    assert!(once.0.iter().all(|job| job.status == "failed" && job.attempts == 1), "{once:#?}");
    for n in 0..40 {
        assert_eq!(floor.stage.executions("desk.note", &format!("n{n}")), 2);
        assert_eq!(floor.stage.executions("desk.once", &format!("n{n}")), 1);
    }
}

/// Q5: an outcome that the database refuses, whatever is sent, keeps nobody else from being settled: its job stays as it is, and
/// is settled when it is accepted.
#[tokio::test]
async fn an_outcome_that_is_refused_stops_nobody() {
    let floor = Floor::new().await;
    let worker = Worker::start(floor.outbox(&["desk.note"]).lease(Duration::from_secs(30)).build().await.unwrap());
    ask_many(&worker.outbox, 10, wait("end")).await;
    eventually("all ten run", async || (floor.stage.running() == 10).then_some(())).await;
    floor
        .sandbox
        .execute(
            "create table :schema.refused as select id from :schema.job_live order by id limit 1;
             create function :schema.refuse() returns trigger language plpgsql as $$ begin
               if exists (select from :schema.refused r where r.id = new.id) then
                 raise exception 'not this one' using errcode = 'check_violation';
               end if;
               return new;
             end $$;
             create trigger refuse before insert on :schema.job_succeeded for each row execute function :schema.refuse();
             create trigger refuse before insert on :schema.job_failed for each row execute function :schema.refuse()",
        )
        .await;
    floor.stage.open("end");
    floor.until_number("select count(*) from :schema.job where status = 'succeeded'", 9).await;
    let event = ask(&worker.outbox, "another", []).await;
    floor.until("desk.note", event, "succeeded").await;
    assert_eq!(floor.sandbox.jobs().await.count("running"), 1);
    floor.sandbox.execute("delete from :schema.refused").await;
    let jobs = floor.until_settled().await;
    let kept: Vec<_> = jobs.0.iter().filter(|job| job.status == "failed").collect();
    assert_eq!((kept.len(), kept[0].reason.as_deref()), (1, Some("quarantined")), "loudly, and re-runnable");
    worker.stop().await;
}
