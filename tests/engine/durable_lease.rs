//! durable leases: one owner of a name at a time, renewed apart from its work, fenced by a token that grows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use outbox::{DurableLease, Held, LeaseError, Leases};
use outbox_testing::fault::Proxy;
use outbox_testing::{Sandbox, eventually};
use sqlx::Connection as _;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::floor::Floor;

/// The shortest that there is.
const LENGTH: Duration = Duration::from_secs(2);

fn leases(sandbox: &Sandbox, holder: &str) -> Leases {
    Leases::new(sandbox.pool()).schema(sandbox.schema()).unwrap().holder(holder)
}

fn rebuild(leases: &Leases) -> DurableLease {
    leases.lease("search.rebuild").length(LENGTH).unwrap()
}

/// Work that goes on until it is told to end, and says when it has begun and when it is gone, whichever way.
struct Work {
    running: JoinHandle<Result<(), LeaseError>>,
    held: Held,
    end: oneshot::Sender<()>,
    gone: Arc<AtomicBool>,
}

struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Work {
    async fn begin(lease: DurableLease) -> Self {
        let (begun, has_begun) = oneshot::channel();
        let (end, ended) = oneshot::channel::<()>();
        let gone = Arc::new(AtomicBool::new(false));
        let guard = Gone(Arc::clone(&gone));
        let running = tokio::spawn(lease.run(async move |held| {
            let _guard = guard;
            begun.send(held).unwrap();
            let _ = ended.await;
        }));
        let held = has_begun.await.expect("it begins");
        Self { running, held, end, gone }
    }

    async fn end(self) {
        self.end.send(()).unwrap();
        self.running.await.unwrap().unwrap();
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }
}

/// Whether the row says that somebody has it now.
async fn stands(sandbox: &Sandbox) -> bool {
    sandbox.number("select count(*) from :schema.lease where expires_at > now()").await == 1
}

async fn expires(sandbox: &Sandbox) -> i64 {
    sandbox.number("select (extract(epoch from expires_at) * 1000)::bigint from :schema.lease").await
}

/// S2-41: of several processes one has it, whoever they say that they are; the others are told who, and for how long.
#[tokio::test]
async fn one_owner_at_a_time() {
    let sandbox = Sandbox::new().await;
    // The same name of the process, as two containers on one host have: it identifies nobody.
    let (one, other) = (leases(&sandbox, "node"), leases(&sandbox, "node"));
    let work = Work::begin(rebuild(&one)).await;
    let refused = rebuild(&other).try_run(async |_| ()).await.unwrap_err();
    let LeaseError::Taken { name, holder, left } = &refused else { panic!("{refused}") };
    assert_eq!((&**name, holder.as_str()), ("search.rebuild", "node"));
    assert!(
        *left <= LENGTH && refused.to_string().starts_with("the lease `search.rebuild` is held by `node`, for "),
        "{refused}"
    );
    assert_eq!(other.lease("another").try_run(async |held| held.token()).await.unwrap(), 1, "another name");
    work.end().await;
    assert_eq!(rebuild(&other).try_run(async |held| held.token()).await.unwrap(), 2);
}

/// S2-41: whoever waits has it when it is given back, each under a token of its own, and two never at once.
#[tokio::test]
async fn those_who_wait_have_it_one_behind_the_other() {
    let sandbox = Sandbox::new().await;
    let busy = Arc::new(AtomicBool::new(false));
    let waiting: Vec<_> = (0..5)
        .map(|number| {
            let (lease, busy) = (rebuild(&leases(&sandbox, &format!("node {number}"))), Arc::clone(&busy));
            tokio::spawn(lease.run(async move |held: Held| {
                assert!(!busy.swap(true, Ordering::SeqCst), "two at once");
                tokio::task::yield_now().await;
                busy.store(false, Ordering::SeqCst);
                held.token()
            }))
        })
        .collect();
    let mut tokens = Vec::new();
    for one in waiting {
        tokens.push(one.await.unwrap().unwrap());
    }
    tokens.sort_unstable();
    assert_eq!(tokens, [1, 2, 3, 4, 5]);
}

/// S2-42: renewed apart from the work, also from work that blocks its thread and with it its whole runtime.
#[tokio::test]
async fn it_is_renewed_while_its_work_blocks_its_thread() {
    let sandbox = Sandbox::new().await;
    let (lease, (begun, has_begun)) = (rebuild(&leases(&sandbox, "node")), std::sync::mpsc::channel());
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let blocked = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(lease.run(async move |_| {
            begun.send(()).unwrap();
            ended.recv().unwrap();
        }))
    });
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
    let first = expires(&sandbox).await;
    let longer = i64::try_from(LENGTH.as_millis()).unwrap() + 1;
    eventually("it stands for longer than its length", async || {
        (expires(&sandbox).await > first + longer).then_some(())
    })
    .await;
    assert!(stands(&sandbox).await);
    end.send(()).unwrap();
    tokio::task::spawn_blocking(|| blocked.join().unwrap().unwrap()).await.unwrap();
    assert!(!stands(&sandbox).await, "it was given back");
}

/// S2-43: an operator ends it: the work is dropped at the next renewal, wherever it is, and says so.
#[tokio::test]
async fn work_is_dropped_when_the_lease_is_lost() {
    let sandbox = Sandbox::new().await;
    let work = Work::begin(rebuild(&leases(&sandbox, "node"))).await;
    let lost = work.held.lost();
    sandbox.execute("update :schema.lease set expires_at = now(), holder = null").await;
    lost.cancelled().await;
    let gone = Arc::clone(&work.gone);
    let error = work.running.await.unwrap().unwrap_err();
    assert!(matches!(error, LeaseError::Lost(_)), "{error}");
    assert!(gone.load(Ordering::SeqCst));
}

/// S2-43: cut off from the database, its owner drops its work while the lease still stands there, so that nobody else has begun; then
/// somebody else does.
#[tokio::test]
async fn an_owner_that_is_cut_off_stops_before_anybody_else_begins() {
    let sandbox = Sandbox::new().await;
    let proxy = Proxy::start(&Sandbox::server_url().await).unwrap();
    let options = sandbox.pool().connect_options().as_ref().clone();
    let through = proxy.options().database(options.get_database().unwrap());
    let far = sqlx::PgPool::connect_lazy_with(through);
    let work = Work::begin(rebuild(&Leases::new(&far).schema(sandbox.schema()).unwrap().holder("far"))).await;
    let near = tokio::spawn(rebuild(&leases(&sandbox, "near")).run({
        let gone = Arc::clone(&work.gone);
        async move |held: Held| (held.token(), gone.load(Ordering::SeqCst))
    }));
    proxy.all().black_hole();
    proxy.all().refuse();
    let error = work.running.await.unwrap().unwrap_err();
    assert!(matches!(error, LeaseError::Lost(_)), "{error}");
    let (token, was_gone) = near.await.unwrap().unwrap();
    assert_eq!((token, was_gone), (2, true));
}

/// S2-44: it goes back when the work has ended, and not before: neither while its last lines run nor when its future is dropped.
#[tokio::test]
async fn it_is_given_back_behind_the_works_end() {
    let sandbox = Sandbox::new().await;
    let node = leases(&sandbox, "node");
    let work = Work::begin(rebuild(&node)).await;
    assert!(stands(&sandbox).await && !work.is_gone());
    work.end().await;
    assert!(!stands(&sandbox).await, "run returns behind the release");
    let work = Work::begin(rebuild(&node)).await;
    work.running.abort();
    eventually("it was given back", async || (!stands(&sandbox).await).then_some(())).await;
    assert!(work.is_gone());
}

/// S2-44: released so early that another process, a little later, would do the same once more: it stands for as long as was asked.
#[tokio::test]
async fn it_stands_for_as_long_as_was_asked() {
    let sandbox = Sandbox::new().await;
    let node = leases(&sandbox, "node");
    let nightly = node.lease("nightly").length(LENGTH).unwrap().at_least(Duration::from_hours(1));
    nightly.clone().try_run(async |_| ()).await.unwrap();
    let error = nightly.try_run(async |_| ()).await.unwrap_err();
    assert!(matches!(&error, LeaseError::Taken { left, .. } if *left > Duration::from_mins(59)), "{error}");
}

/// S2-41, S2-43: an owner that was frozen and comes back writes nothing: its transaction is fenced by its token. And while a fenced
/// transaction is open, nobody takes the lease, though it has ended.
#[tokio::test]
async fn what_a_former_owner_writes_is_refused() {
    let sandbox = Sandbox::new().await;
    let work = Work::begin(rebuild(&leases(&sandbox, "former"))).await;
    let former = work.held.clone();
    let mut connection = sandbox.pool().acquire().await.unwrap();
    let mut open = connection.begin().await.unwrap();
    former.fence(&mut open).await.unwrap();
    sandbox.execute("update :schema.lease set expires_at = now()").await;
    work.running.await.unwrap().unwrap_err();
    let next = tokio::spawn(rebuild(&leases(&sandbox, "next")).run(async |held: Held| held.token()));
    let waits =
        "select count(*) from pg_stat_activity where application_name = 'outbox lease' and wait_event_type = 'Lock'
                 and query like '%lease_take%' and datname = current_database()";
    eventually("the next one waits for it", async || (sandbox.number(waits).await > 0).then_some(())).await;
    assert!(!next.is_finished());
    open.commit().await.unwrap();
    assert_eq!(next.await.unwrap().unwrap(), 2);
    let mut late = connection.begin().await.unwrap();
    let error = former.fence(&mut late).await.unwrap_err();
    assert!(matches!(error, LeaseError::Fenced(_)), "{error}");
}

/// A renewal does not wait for a transaction that is fenced by the lease, however long that takes.
#[tokio::test]
async fn a_long_fenced_transaction_does_not_lose_the_lease() {
    let sandbox = Sandbox::new().await;
    let work = Work::begin(rebuild(&leases(&sandbox, "node"))).await;
    let mut connection = sandbox.pool().acquire().await.unwrap();
    let mut open = connection.begin().await.unwrap();
    work.held.fence(&mut open).await.unwrap();
    let first = expires(&sandbox).await;
    eventually("it was renewed", async || (expires(&sandbox).await > first).then_some(())).await;
    open.commit().await.unwrap();
    work.end().await;
}

/// Work that panics leaves no lease behind.
#[tokio::test]
async fn work_that_panics_gives_it_back() {
    let sandbox = Sandbox::new().await;
    let lease = rebuild(&leases(&sandbox, "node"));
    let failed = tokio::spawn(lease.run(async |_| panic!("the work's own"))).await.unwrap_err();
    assert!(failed.is_panic());
    eventually("it was given back", async || (!stands(&sandbox).await).then_some(())).await;
}

/// S2-73: neither a worker nor an outbox is needed; and what cannot be is refused before anything is asked.
#[tokio::test]
async fn what_cannot_be_a_lease_is_refused() {
    let sandbox = Sandbox::new().await;
    let node = leases(&sandbox, "node");
    let length = node.lease("a").length(Duration::from_secs(1)).unwrap_err();
    assert_eq!(length.to_string(), "a lease of 1s is not possible: it lasts 2s to 600s");
    for bad in ["", "a\0b", &"x".repeat(201)] {
        let error = node.lease(bad).try_run(async |_| ()).await.unwrap_err();
        assert!(matches!(error, LeaseError::Name(_)), "{error}");
    }
    let nowhere = Leases::new(sandbox.pool()).schema("nowhere").unwrap();
    let error = nowhere.lease("a").try_run(async |_| ()).await.unwrap_err();
    assert!(matches!(error, LeaseError::Unreachable { .. }), "{error}");
}

/// Those of an outbox carry its worker's name and stand in its schema.
#[tokio::test]
async fn an_outbox_has_leases() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).name("till 7").build().await.unwrap();
    let seen = outbox.leases().lease("a").try_run(async |_| {
        floor.sandbox.number("select count(*) from :schema.lease where holder = 'till 7' and name = 'a'").await
    });
    assert_eq!(seen.await.unwrap(), 1);
}
