//! The engine at points of its own statements: an answer held, an answer lost, a process killed.

use std::sync::mpsc;

use outbox_testing::fault::{Point, Process, ProcessHandle, Proxy, Then, Trap};
use outbox_testing::{DEADLINE, Sandbox, eventually};
use sqlx::PgPool;
use tokio::task::{JoinSet, LocalSet};

use crate::worker::{self, Asked};

/// A migrated schema with a place for effects, and a proxy that workers go through.
struct Floor {
    sandbox: Sandbox,
    proxy: Proxy,
}

impl Floor {
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.effect (handler text, label text)").await;
        let proxy = Proxy::start(&Sandbox::url().await).unwrap();
        Self { sandbox, proxy }
    }

    /// Publishes one event, with a job for each of the two handlers. Not through the proxy.
    async fn publish(&self) {
        let pool = PgPool::connect(&Sandbox::url().await).await.unwrap();
        let outbox = worker::outbox(&pool, self.sandbox.schema()).build().await.unwrap();
        let mut tx = outbox.begin().await.unwrap();
        outbox.publish(&mut tx, &Asked { label: "one".to_owned() }).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn running(&self) -> i64 {
        self.sandbox.number("select count(*) from :schema.job where status = 'running'").await
    }

    async fn until_done(&self) {
        eventually("both jobs have succeeded", async || (self.sandbox.jobs().await.succeeded() == 2).then_some(()))
            .await;
    }

    async fn effects(&self, handler: &str) -> i64 {
        self.sandbox.number(&format!("select count(*) from :schema.effect where handler = '{handler}'")).await
    }
}

/// When a claim is committed: alone, or in a transaction of its own behind a pooler.
fn claimed() -> Point {
    if Sandbox::is_pooled() { Point::after("commit").following("claim") } else { Point::after("claim") }
}

/// Between the claim's commit and its answer the rows are running, and the worker has nothing. When the answer comes late, the
/// jobs run; when it never comes, they are given back, and run as well.
#[tokio::test]
async fn a_claim_is_held_at_its_answer() {
    for lost in [false, true] {
        let floor = Floor::new().await;
        let pool = PgPool::connect(&floor.proxy.url()).await.unwrap();
        let outbox = worker::outbox(&pool, floor.sandbox.schema()).build().await.unwrap();
        floor.publish().await;
        let held = floor.proxy.hold_at(claimed());
        let worker = tokio::spawn(async move { outbox.run(std::future::pending()).await });
        held.until_reached().await;
        assert_eq!(floor.running().await, 2);
        assert_eq!((floor.effects("plain").await, floor.effects("in_transaction").await), (0, 0));
        if lost {
            held.cut();
        } else {
            held.release();
        }
        // What is released stays released: later claims of both kinds are answered.
        drop(held);
        floor.until_done().await;
        assert_eq!((floor.effects("plain").await, floor.effects("in_transaction").await), (1, 1));
        worker.abort();
    }
}

/// Until the commit of a publish is answered, its event and its jobs are there together or not at all, and which of the two is
/// decided by whether the server saw the commit.
#[tokio::test]
async fn a_publish_is_whole_at_every_point() {
    let floor = Floor::new().await;
    let pool = PgPool::connect(&floor.proxy.url()).await.unwrap();
    let (mut events, mut jobs) = (0, 0);
    // By the catalogue, and by what a publisher knows of it from its first publish on.
    for (statement, before) in [("publish", 0), ("publish_known", 1)] {
        let points = [
            (Point::before(statement), 0),
            (Point::after(statement), 0),
            (Point::before("commit").following(statement), 0),
            (Point::after("commit").following(statement), 1),
        ];
        for (point, more) in points {
            let outbox = worker::outbox(&pool, floor.sandbox.schema()).build().await.unwrap();
            for n in 0..before {
                let mut tx = outbox.begin().await.unwrap();
                outbox.publish(&mut tx, &Asked { label: n.to_string() }).await.unwrap();
                tx.commit().await.unwrap();
            }
            let what = format!("{point:?}");
            let lost = floor.proxy.cut_at(point);
            let mut tx = outbox.begin().await.unwrap();
            let published = outbox.publish(&mut tx, &Asked { label: what.clone() }).await.is_ok();
            assert!(!published || tx.commit().await.is_err(), "{what}");
            assert_eq!(lost.reached(), 1, "{what}");
            (events, jobs) = (events + before + more, jobs + 2 * (before + more));
            let stored = floor.sandbox.number("select count(*) from :schema.event").await;
            assert_eq!((stored, floor.sandbox.jobs().await.len()), (events, usize::try_from(jobs).unwrap()), "{what}");
        }
    }
}

/// Wherever a worker's process is killed, before or after whichever statement, its jobs end all the same on another one, the
/// transactional handler's effect is there exactly once, and the other one's at least once and at most twice.
#[tokio::test]
async fn killed_at_every_point() {
    let mut points = Vec::new();
    for statement in ["register", "renew", "claim", "effect", "settle", "settle_tx"] {
        points.extend([Point::before(statement), Point::after(statement)]);
    }
    let commit = |point: Point| point.following("settle_tx");
    points.extend([commit(Point::before("commit")), commit(Point::after("commit"))]);
    let killed = points.into_iter().map(|point| {
        Box::pin(async {
            let floor = Floor::new().await;
            floor.publish().await;
            floor.killed_at(point).await;
            floor.ends_elsewhere().await;
        })
    });
    a_few_at_a_time(killed).await;
}

/// A worker that is killed while it takes over a dead one's jobs leaves them to the next.
#[tokio::test]
async fn killed_while_it_rescues() {
    let mut points = Vec::new();
    for statement in ["rescue_mark", "rescue_return"] {
        points.extend([Point::before(statement), Point::after(statement)]);
    }
    let commit = |point: Point| point.following("rescue_return");
    points.extend([commit(Point::before("commit")), commit(Point::after("commit"))]);
    let killed = points.into_iter().map(|point| {
        Box::pin(async {
            let floor = Floor::new().await;
            floor.publish().await;
            floor.killed_at(claimed()).await;
            assert_eq!(floor.running().await, 2);
            floor.killed_at(point).await;
            floor.ends_elsewhere().await;
        })
    });
    a_few_at_a_time(killed).await;
}

impl Floor {
    /// Starts a worker through the proxy, which is killed at this point.
    async fn killed_at(&self, point: Point) {
        let (trap, process) = self.start_until(point);
        trap.until_reached().await;
        assert!(!process.ended().await.success());
    }

    fn start_until(&self, point: Point) -> (Trap, Process) {
        // The trap is set before there is a process that it could kill.
        let (give, take) = mpsc::channel::<ProcessHandle>();
        let trap = self.proxy.call_at(point, move || {
            take.recv_timeout(DEADLINE).unwrap().kill().unwrap();
            Then::Cut
        });
        let process = worker::start(&self.proxy.url(), self.sandbox.schema());
        give.send(process.handle()).unwrap();
        (trap, process)
    }

    async fn ends_elsewhere(&self) {
        let _other = worker::start(&Sandbox::url().await, self.sandbox.schema());
        self.until_done().await;
        assert_eq!(self.effects("in_transaction").await, 1);
        assert!((1..=2).contains(&self.effects("plain").await));
    }
}

/// Each is a process or two, so not all of them at once.
async fn a_few_at_a_time(all: impl Iterator<Item = impl Future<Output = ()> + 'static>) {
    let all = async {
        let mut running = JoinSet::new();
        for one in all {
            if running.len() >= 4 {
                running.join_next().await.unwrap().unwrap();
            }
            running.spawn_local(one);
        }
        while let Some(ended) = running.join_next().await {
            ended.unwrap();
        }
    };
    LocalSet::new().run_until(all).await;
}
