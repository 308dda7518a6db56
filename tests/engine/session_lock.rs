//! session locks: a short action in one process at a time, by a connection of its own.

use outbox::{SessionLock, SessionLockError};
use outbox_testing::{Sandbox, eventually};
use tokio::sync::oneshot;

use crate::floor::Floor;

fn name(sandbox: &Sandbox) -> String {
    format!("clean_up of {}", sandbox.schema())
}

/// S2-45: one session at a time; its end leaves the lock to the next at once, whether it ended in good order, was dropped or panicked.
#[tokio::test]
async fn one_session_at_a_time() {
    let sandbox = Sandbox::new().await;
    let lock = || SessionLock::new(sandbox.pool(), name(&sandbox));
    let (begun, has_begun) = oneshot::channel();
    let (end, ended) = oneshot::channel::<()>();
    let first = tokio::spawn(lock().try_run(async move || {
        begun.send(()).unwrap();
        ended.await.unwrap();
    }));
    has_begun.await.unwrap();
    let error = lock().try_run(async || ()).await.unwrap_err();
    assert!(matches!(error, SessionLockError::Taken(_)), "{error}");
    SessionLock::new(sandbox.pool(), "another").try_run(async || ()).await.unwrap();
    end.send(()).unwrap();
    first.await.unwrap().unwrap();
    lock().try_run(async || ()).await.unwrap();
    tokio::spawn(lock().try_run(async || panic!("the action's own"))).await.unwrap_err();
    let (begun, has_begun) = oneshot::channel();
    let dropped = tokio::spawn(lock().try_run(async move || {
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
    }));
    eventually("the one that panicked let go", async || (!dropped.is_finished()).then_some(())).await;
    has_begun.await.unwrap();
    dropped.abort();
    eventually("the one that was dropped let go", async || lock().try_run(async || ()).await.ok()).await;
}

/// S2-45: the application's pool has no part in it: none of its connections is taken, and none holds the lock behind its user.
#[tokio::test]
async fn no_connection_of_the_pool_holds_it() {
    let sandbox = Sandbox::new().await;
    let pool = sqlx::postgres::PgPoolOptions::new()
        .max_connections(1)
        .connect_with(sandbox.pool().connect_options().as_ref().clone());
    let pool = pool.await.unwrap();
    let taken = pool.acquire().await.unwrap();
    SessionLock::new(&pool, name(&sandbox)).try_run(async || ()).await.unwrap();
    drop(taken);
    let held = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()";
    assert_eq!(sqlx::query_scalar::<_, i64>(held).fetch_one(&pool).await.unwrap(), 0);
}

/// S2-45: the session is ended by somebody: the action is dropped, because another may begin.
#[tokio::test]
async fn an_action_whose_session_is_lost_is_dropped() {
    let sandbox = Sandbox::new().await;
    let name = name(&sandbox);
    let (begun, has_begun) = oneshot::channel();
    let action = tokio::spawn(SessionLock::new(sandbox.pool(), name.clone()).try_run(async move || {
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
    }));
    has_begun.await.unwrap();
    let end =
        "select count(pg_terminate_backend(pid)) from pg_locks where locktype = 'advisory' and granted and objsubid = 1
               and (classid::bigint << 32) | objid::bigint = hashtextextended('outbox session lock ' || $1, 0)";
    assert_eq!(sqlx::query_scalar::<_, i64>(end).bind(&name).fetch_one(sandbox.pool()).await.unwrap(), 1);
    let error = action.await.unwrap().unwrap_err();
    assert!(matches!(error, SessionLockError::Lost(_)), "{error}");
}

/// Behind a transaction pooler there is no session: refused, with what to do.
#[tokio::test]
async fn behind_a_transaction_pooler_it_is_refused() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).transaction_pooler().build().await.unwrap();
    let error = outbox.session_lock("a").try_run(async || ()).await.unwrap_err();
    assert!(error.to_string().contains("set `direct(..)`, or take a lease"), "{error}");
}
