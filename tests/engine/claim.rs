//! claim: which due jobs become running, in which order, and how many.

use std::time::Duration;

use crate::floor::{Do, Floor, Letter, Worker, ask, ask_many, wait};
use crate::proxy;
use crate::support::{Shop, publish};

/// S1-50, S0-22, S0-23: a job that ran is succeeded, with its effect, once.
#[tokio::test]
async fn a_published_event_is_handled_once() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["inventory.take", "notifications.confirm"]).build().await.unwrap();
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let jobs = shop.sandbox.jobs().await;
    assert_eq!(jobs.succeeded(), 2, "{jobs:#?}");
    assert!(jobs.0.iter().all(|job| job.attempts == 1));
    assert_eq!(shop.effects().await, 1);
    shop.sandbox
        .execute("do $$ begin assert (select bool_and(completed_at is not null) from :schema.job); end $$")
        .await;
}

/// S0-17: a job is claimed by its whole name: `_` is no wildcard, a longer name and a bare module are other names.
#[tokio::test]
async fn a_name_claims_itself_and_nothing_that_looks_like_it() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["order_item.pack"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    for other in ["orderXitem.pack", "order_item.pack_more", "order_item", "order_item.pac"] {
        let text = format!(
            "insert into :schema.job_live (id, event_id, job_type, max_attempts)
             select gen_random_uuid(), event_id, '{other}', 3 from :schema.job_live where job_type = 'order_item.pack'"
        );
        floor.sandbox.execute(&text).await;
    }
    outbox.drain().await.unwrap();
    assert_eq!(floor.job("order_item.pack", event).await.status, "succeeded");
    let jobs = floor.sandbox.jobs().await;
    let untouched = jobs.0.iter().filter(|job| job.status == "pending" && job.attempts == 0);
    assert_eq!(untouched.count(), 4, "{jobs:#?}");
}

/// S0-17: a worker of one module leaves the jobs of others alone, though it links their handlers.
#[tokio::test]
async fn a_worker_of_one_module_leaves_the_others_alone() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note", "till.book"]).modules(["desk"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.job("desk.note", event).await.status, "succeeded");
    let other = floor.job("till.book", event).await;
    assert_eq!((other.status.as_str(), other.attempts), ("pending", 0));
}

/// S1-49, S0-18: a job is claimed when its time has come and not before.
#[tokio::test]
async fn only_due_jobs_are_claimed() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.letter"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.enqueue(&mut tx, &Letter { label: "later".into() }).delay(Duration::from_hours(1)).await.unwrap();
    outbox.enqueue(&mut tx, &Letter { label: "now".into() }).await.unwrap();
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!(floor.stage.order("desk.letter"), ["now"]);
    floor.sandbox.execute("update :schema.job_live set available_at = now()").await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.stage.order("desk.letter"), ["now", "later"]);
}

/// S0-18: whether a job is due, a lease ended or a retry is to come is decided by the database's clock alone: none of the
/// statements takes a time from the application.
#[test]
fn no_statement_of_a_worker_takes_a_time_of_the_application() {
    let statements = [
        include_str!("../../outbox-postgres/src/step/claim.sql"),
        include_str!("../../outbox-postgres/src/step/settle.sql"),
        include_str!("../../outbox-postgres/src/step/settle_tx.sql"),
        include_str!("../../outbox-postgres/src/step/register.sql"),
        include_str!("../../outbox-postgres/src/step/renew.sql"),
        include_str!("../../outbox-postgres/src/step/rescue_mark.sql"),
        include_str!("../../outbox-postgres/src/step/rescue_return.sql"),
        include_str!("../../outbox-postgres/src/step/recover.sql"),
    ];
    for text in statements {
        for parameter in text.split('$').skip(1) {
            let parameter = parameter.trim_start_matches(|c: char| c.is_ascii_digit());
            let cast = parameter.strip_prefix("::").unwrap_or_default();
            assert!(!cast.starts_with("timestamp") && !cast.starts_with("date"), "{text}");
        }
    }
}

/// S1-26, S1-49, S0-19: of one handler and priority, what has been due for longest is claimed first, whatever was published first.
#[tokio::test]
async fn what_is_due_for_longest_is_claimed_first() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).concurrency(1).prefetch(0).batch(1).build().await.unwrap();
    ask_many(&outbox, 6, []).await;
    floor
        .sandbox
        .execute(
            "update :schema.job_live j set available_at = now() - substr(e.subject_id, 2)::int * interval '1 minute'
             from :schema.event e where e.id = j.event_id",
        )
        .await;
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!(floor.stage.order("desk.note"), ["n5", "n4", "n3", "n2", "n1", "n0"]);
}

/// S0-19: the order by time holds within a priority: priority 0 runs before 1, however late it came.
#[tokio::test]
async fn priority_0_runs_before_1() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.letter"]).concurrency(1).prefetch(0).batch(1).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    for (label, priority) in [("last", 3), ("usual", 1), ("usual too", 1), ("urgent", 0)] {
        outbox.enqueue(&mut tx, &Letter { label: label.into() }).priority(priority).await.unwrap();
    }
    tx.commit().await.unwrap();
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!(floor.stage.order("desk.letter"), ["urgent", "usual", "usual too", "last"]);
}

/// S2-46, S0-20, S0-28: six workers at one table with no coordination between them run each of 300 jobs once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_workers_never_take_one_job_twice() {
    let floor = Floor::new().await;
    let mut workers = Vec::new();
    for _ in 0..6 {
        let outbox = floor.outbox(&["desk.note"]).concurrency(4).prefetch(3).batch(7);
        workers.push(Worker::start(outbox.build().await.unwrap()));
    }
    ask_many(&workers[0].outbox, 300, []).await;
    let jobs = floor.until_settled().await;
    for worker in workers {
        worker.stop().await;
    }
    assert!(jobs.0.iter().all(|job| job.status == "succeeded" && job.attempts == 1), "{jobs:#?}");
    for n in 0..300 {
        assert_eq!(floor.stage.executions("desk.note", &format!("n{n}")), 1, "n{n}");
    }
}

/// S1-26, S1-49, S0-20: rows that another session holds are passed by, not waited for.
#[tokio::test]
async fn a_claim_passes_by_rows_that_others_hold() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    ask_many(&outbox, 10, []).await;
    let mut other = floor.sandbox.pool().begin().await.unwrap();
    let held = floor.fill("select id from :schema.job_live order by available_at, id limit 5 for update");
    sqlx::query(held).fetch_all(&mut *other).await.unwrap();
    let worker = Worker::start(outbox);
    floor.until_number("select count(*) from :schema.job where status = 'succeeded'", 5).await;
    assert_eq!(floor.sandbox.jobs().await.count("pending"), 5);
    other.rollback().await.unwrap();
    let jobs = floor.until_settled().await;
    assert!(jobs.0.iter().all(|job| job.attempts == 1));
    worker.stop().await;
}

/// S2-49, S1-26, S1-49, S0-21: one claim takes no more rows than `.batch(10)` says, though more are due and there is room for more.
#[tokio::test]
async fn a_claim_takes_at_most_its_batch() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).concurrency(30).batch(10).build().await.unwrap();
    ask_many(&outbox, 60, [Do::Hang]).await;
    let worker = Worker::start(outbox);
    floor.until_number("select least(count(*), 30) from :schema.job where status = 'running'", 30).await;
    let largest =
        "select max(n) from (select count(*) n from :schema.job_live where claim_id is not null group by claim_id) c";
    assert_eq!(floor.sandbox.number(largest).await, 10);
    worker.stop().await;
}

/// S0-22: while its handler runs, the row is running and says since when, by which worker and under which claim.
#[tokio::test]
async fn a_claimed_row_says_who_holds_it() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    ask(&worker.outbox, "a", wait("end")).await;
    floor.until_begun("desk.note", "a", 1).await;
    let held = "select count(*) from :schema.job_live l join :schema.worker w on w.id = l.locked_by
                where l.status = 'running' and l.locked_at is not null and l.claim_id is not null and l.attempts = 1";
    assert_eq!(floor.sandbox.number(held).await, 1);
    floor.stage.open("end");
    floor.until_settled().await;
    worker.stop().await;
}

/// S0-17, O6, B2: a binary never claims a handler or a payload version that it does not know: the job waits with no attempt
/// charged and shows in `unclaimed()`; the binary that knows it runs it once.
#[tokio::test]
async fn what_a_binary_does_not_know_waits_uncharged() {
    let floor = Floor::new().await;
    let newer = floor.outbox(&["desk.note", "till.book"]).build().await.unwrap();
    let event = ask(&newer, "a", []).await;
    floor
        .sandbox
        .execute(
            "insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts)
             select gen_random_uuid(), gen_random_uuid(), 'desk.note', 2, 3",
        )
        .await;
    let older = floor.worker(&["desk.note"]).await;
    floor.until("desk.note", event, "succeeded").await;
    let waiting = older.outbox.unclaimed().await.unwrap();
    let waiting: Vec<_> = waiting.iter().map(|one| (one.job_type.as_str(), one.version, one.waiting)).collect();
    assert_eq!(waiting, [("desk.note", 2, 1), ("till.book", 1, 1)]);
    older.stop().await;
    let job = floor.job("till.book", event).await;
    assert_eq!((job.status.as_str(), job.attempts, job.last_error), ("pending", 0, None));
    newer.drain().await.unwrap();
    let job = floor.job("till.book", event).await;
    assert_eq!((job.status.as_str(), job.attempts, floor.effects("a").await), ("succeeded", 1, 1));
}

/// Large messages over a slow link: a claim whose answer does not arrive in its time asks for fewer the next time, until it does;
/// nothing is charged for those that were lost.
#[tokio::test]
async fn large_messages_get_through_a_slow_link() {
    let floor = Floor::new().await;
    let elsewhere = floor.outbox(&["desk.note"]).build().await.unwrap();
    ask_many(&elsewhere, 8, [Do::Succeed, Do::Fail("x".repeat(250_000))]).await;
    let proxy = proxy::start().await;
    let outbox =
        floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).concurrency(8).batch(8).lease(Duration::from_secs(10));
    let worker = Worker::start(outbox.build().await.unwrap());
    // All eight would take five seconds.
    proxy.all().throttle(400_000);
    let jobs = floor.until_settled().await;
    assert!(jobs.0.iter().all(|job| job.status == "succeeded" && job.attempts == 1 && job.crashes == 0), "{jobs:#?}");
    worker.stop().await;
}
