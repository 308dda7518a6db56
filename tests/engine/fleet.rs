//! Many at once: nodes that know different handlers, publishers beside each other, sessions of others that stay open.

use std::time::{Duration, Instant};

use outbox_testing::fault::{Point, Process, Proxy, Session};
use outbox_testing::{Sandbox, eventually};
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;

use crate::floor::{Asked, Do, Floor, LEASE, Letter, Worker, ask, ask_many};
use crate::process::command;

/// Q37: any node rescues, whatever it runs: processes with handlers of three kinds and two modules are killed with everything in
/// hand; a node that knows none of them returns all of it within the lease and a second, and none is left held by a dead worker.
#[tokio::test]
async fn any_node_rescues_jobs_of_every_kind() {
    let handlers = ["desk.patient", "till.book", "shelf.fill"];
    let floor = Floor::new().await;
    let outbox = floor.outbox(&handlers).build().await.unwrap();
    ask_many(&outbox, 6, [Do::Hang]).await;
    let mut processes = Vec::new();
    for handlers in [&handlers[..], &handlers[..1], &handlers[1..]] {
        processes.push(Process::spawn(&mut command(&floor, handlers).await).unwrap());
    }
    let running = "select count(distinct job_type) from :schema.job_live where status = 'running'";
    floor.until_number(running, 3).await;
    let stranger = floor.worker(&["order_item.pack"]).await;
    for process in &processes {
        process.kill().unwrap();
    }
    let killed = Instant::now();
    floor.until_number("select count(*) from :schema.job_live where status = 'running'", 0).await;
    assert!(killed.elapsed() < LEASE + Duration::from_secs(1), "{:?}", killed.elapsed());
    assert!(floor.stage.notes().is_empty(), "{:#?}", floor.stage.notes());
    let owner = floor.worker(&handlers).await;
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.len(), jobs.succeeded()), (18, 18));
    owner.stop().await;
    stranger.stop().await;
}

/// Q10: a statement of the upkeep fails from the start: the others go on, health tells which service is in trouble, and when the
/// statement works again so does the service, without anybody's help.
#[tokio::test]
async fn upkeep_that_fails_at_the_start_is_tried_again_and_stops_nobody() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let broken = proxy.cut_at(Point::before("rescue_mark").every_time());
    let pool = PgPoolOptions::new().max_connections(4).connect_lazy_with(proxy.options());
    let worker = Worker::start(floor.outbox_on(pool, &["desk.note"]).build().await.unwrap());
    let event = ask(&worker.outbox, "a", []).await;
    floor.until("desk.note", event, "succeeded").await;
    eventually("health names it", async || {
        let troubles = worker.outbox.health().troubles;
        troubles.iter().any(|trouble| trouble.service == "upkeep" && trouble.failures >= 3).then_some(())
    })
    .await;
    assert!(broken.reached() >= 3);
    let process = Process::spawn(&mut command(&floor, &["desk.patient"]).await).unwrap();
    let outbox = floor.outbox(&["desk.patient"]).build().await.unwrap();
    let held = ask(&outbox, "b", [Do::Hang]).await;
    process.until("began desk.patient b").await;
    process.kill().unwrap();
    let event = ask(&worker.outbox, "c", []).await;
    floor.until("desk.note", event, "succeeded").await;
    drop(broken);
    let job = floor.until("desk.patient", held, "pending").await;
    assert_eq!((job.crashes, job.attempts), (1, 1));
    eventually("health is well", async || worker.outbox.health().troubles.is_empty().then_some(())).await;
    worker.stop().await;
}

/// Q21: a hundred publishers at once, while the connection for NOTIFY gets no answer: no publish fails or waits for it, and every job
/// is found by the next poll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_publishers_do_not_need_notify() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let pool = PgPoolOptions::new().max_connections(10).connect_lazy_with(proxy.options());
    let outbox = floor.outbox_on(pool, &["desk.note"]).build().await.unwrap();
    ask(&outbox, "first", []).await;
    eventually("it says so to others", async || (proxy.of("outbox wake").count("wake") > 0).then_some(())).await;
    proxy.of("outbox wake").black_hole();
    let mut publishers = JoinSet::new();
    for publisher in 0..100 {
        let outbox = outbox.clone();
        publishers.spawn(async move {
            for number in 0..5 {
                ask(&outbox, &format!("p{publisher}.{number}"), []).await;
            }
        });
    }
    let begun = Instant::now();
    publishers.join_all().await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let elsewhere = floor.worker(&["desk.note"]).await;
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.len(), jobs.succeeded()), (501, 501));
    elsewhere.stop().await;
}

/// O4: a session elsewhere in the cluster, in another database, has written and does nothing more: jobs are delivered as ever.
#[tokio::test]
async fn an_idle_transaction_of_another_database_stalls_nobody() {
    let floor = Floor::new().await;
    let other = Sandbox::database().await;
    let url = sqlx::ConnectOptions::to_url_lossy(other.pool().connect_options().as_ref()).to_string();
    let idle = Session::write(&url, "create table idle (id int)").await.unwrap();
    let worker = floor.worker(&["desk.note", "till.book"]).await;
    for number in 0..10 {
        ask(&worker.outbox, &format!("n{number}"), []).await;
    }
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.len(), jobs.succeeded()), (20, 20));
    worker.stop().await;
    idle.rollback().await.unwrap();
}

/// O2: a transaction that published first and commits last is delivered, however old its event says it is: nothing is decided by the
/// time of an event. Its id and its moment lie ten minutes back, far behind what was delivered meanwhile.
#[tokio::test]
async fn an_old_event_that_commits_late_is_delivered() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let mut late = floor.sandbox.pool().begin().await.unwrap();
    let old =
        worker.outbox.publish(&mut late, &Asked { label: "old".into(), plan: Vec::new() }).await.unwrap().event_id;
    // As a publisher does whose clock is ten minutes behind.
    let back = "with back as (
                  insert into :schema.event (id, event_type, event_version, subject_type, subject_id, payload, metadata, occurred_at)
                  select (left(:schema.ulid_floor(now() - interval '10 minutes')::text, 13) || substr(id::text, 14))::uuid, event_type,
                         event_version, subject_type, subject_id, payload, metadata, now() - interval '10 minutes'
                  from :schema.event where id = $1 returning id)
                update :schema.job_live l set event_id = back.id from back where l.event_id = $1 returning back.id";
    let old: sqlx::types::Uuid =
        sqlx::query_scalar(floor.fill(back)).bind(old.as_uuid()).fetch_one(&mut *late).await.unwrap();
    for number in 0..5 {
        let event = ask(&worker.outbox, &format!("n{number}"), []).await;
        floor.until("desk.note", event, "succeeded").await;
    }
    assert_eq!(floor.stage.executions("desk.note", "old"), 0);
    late.commit().await.unwrap();
    let job = floor.until("desk.note", old.into(), "succeeded").await;
    assert_eq!((job.attempts, floor.stage.executions("desk.note", "old")), (1, 1));
    worker.stop().await;
}

/// S2-31, O35: between a failure and its retry nothing is open: no transaction of the handler's pool, no lock on the job or on its worker.
#[tokio::test]
async fn nothing_is_open_while_a_retry_is_waited_for() {
    let floor = Floor::new().await;
    let name = format!("waits in {}", &floor.sandbox.schema()[..20]);
    let options = floor.sandbox.pool().connect_options().as_ref().clone().application_name(&name);
    let pool = PgPoolOptions::new().max_connections(4).connect_with(options).await.unwrap();
    let worker = Worker::start(floor.outbox_on(pool, &["till.book"]).build().await.unwrap());
    let event = ask(&worker.outbox, "a", [Do::RetryAfter(3_000)]).await;
    floor.until_begun("till.book", "a", 1).await;
    let job = floor.until("till.book", event, "pending").await;
    assert_eq!(job.attempts, 1);
    let open =
        format!("select count(*) from pg_stat_activity where application_name = '{name}' and xact_start is not null");
    assert_eq!(floor.sandbox.number(&open).await, 0);
    for table in ["job_live", "worker"] {
        floor.sandbox.execute(&format!("do $$ begin perform 1 from :schema.{table} for update nowait; end $$")).await;
    }
    assert_eq!(floor.effects("a").await, 0, "and what it did was taken back");
    floor.until("till.book", event, "succeeded").await;
    worker.stop().await;
}

/// O19: a job is completed by its id and claim: that its stored text has changed its order and its spelling meanwhile is nobody's
/// concern.
#[tokio::test]
async fn a_job_is_completed_by_its_id() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.letter"]).await;
    let mut tx = worker.outbox.begin().await.unwrap();
    let letter = Letter { label: "wait".into() };
    let letters = [
        worker.outbox.enqueue(&mut tx, &letter).await.unwrap(),
        worker.outbox.enqueue(&mut tx, &letter).await.unwrap(),
    ];
    tx.commit().await.unwrap();
    floor.until_begun("desk.letter", "wait", 2).await;
    let rewritten = "update :schema.job_live set payload = jsonb_build_object('zip', 1, 'label', 'wait', 'area', 2), metadata = '{}'";
    floor.sandbox.execute(rewritten).await;
    floor.stage.open("letters");
    let jobs = floor.until_settled().await;
    assert_eq!(jobs.succeeded(), letters.len());
    assert!(jobs.0.iter().all(|job| job.attempts == 1), "{jobs:#?}");
    worker.stop().await;
}

/// Q27: counters at the end of their range: there is no number that a table counts up (ids are ULIDs), and an attempt that is the last
/// one that an integer holds is claimed and settled, beside others that know nothing of it.
#[tokio::test]
async fn counters_at_their_limits_work() {
    let floor = Floor::new().await;
    let numbered = "select count(*) from pg_class c join pg_depend d on d.objid = c.oid and d.deptype in ('a', 'i')
                    where c.relnamespace = ':name'::regnamespace and c.relkind = 'S'";
    let numbered = numbered.replace(":name", floor.sandbox.schema());
    assert_eq!(floor.sandbox.number(&numbered).await, 0, "a column is numbered by a sequence");
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let [tired, crashed] = [ask(&outbox, "tired", []).await, ask(&outbox, "crashed", []).await];
    let limits = "update :schema.job_live l set max_attempts = 2147483647, attempts = 2147483646
                  from :schema.event e where e.id = l.event_id and e.subject_id = 'tired';
                  update :schema.job_live l set max_attempts = 2147483647, crashes = 2147483646
                  from :schema.event e where e.id = l.event_id and e.subject_id = 'crashed'";
    floor.sandbox.execute(limits).await;
    let worker = Worker::start(floor.outbox(&["desk.note"]).crash_limit(u32::MAX).build().await.unwrap());
    ask_many(&worker.outbox, 5, []).await;
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.succeeded(), jobs.failed()), (7, 0), "{jobs:#?}");
    assert_eq!(floor.job("desk.note", tired).await.attempts, 2_147_483_647);
    assert_eq!(floor.job("desk.note", crashed).await.crashes, 2_147_483_646);
    worker.stop().await;
}

/// Producers enqueue the same keys again and again while their jobs run: every call answers an id, for each key the same one, and
/// its job has run. A key is for good: whoever wants a later run enqueues without one, or under another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyed_enqueue_that_meets_the_running_job_answers_its_id() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.letter"]).await;
    let mut producers = JoinSet::new();
    for _ in 0..4 {
        let outbox = worker.outbox.clone();
        producers.spawn(async move {
            let mut answers = Vec::new();
            for round in 0..60 {
                let key = format!("k{}", round / 6);
                let mut tx = outbox.begin().await.unwrap();
                let letter = Letter { label: key.clone() };
                answers.push((key.clone(), outbox.enqueue(&mut tx, &letter).key(&key).await.unwrap().job_id));
                tx.commit().await.unwrap();
            }
            answers
        });
    }
    let answers: std::collections::BTreeSet<_> = producers.join_all().await.into_iter().flatten().collect();
    assert_eq!(answers.len(), 10, "one id for each key: {answers:#?}");
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.len(), jobs.succeeded()), (10, 10));
    for (key, _) in answers {
        assert_eq!(floor.stage.executions("desk.letter", &key), 1, "{key}");
    }
    worker.stop().await;
}
