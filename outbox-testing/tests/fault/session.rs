//! Sessions that hold what others want.

use std::time::Duration;

use outbox_testing::Sandbox;
use outbox_testing::eventually;
use outbox_testing::fault::{FullPool, LockError, Session};

use crate::support::{Stand, execute_raw};

/// Who wants a locked row, or anything of a locked table, waits until the session ends; dropping it is enough.
#[tokio::test]
async fn locks_are_waited_for() {
    let stand = Stand::new().await;
    let (url, table) = (Sandbox::server_url().await, stand.sandbox.table("word"));
    stand.sandbox.execute("insert into :schema.word values ('a')").await;
    let rows = Session::lock_rows(&url, &format!("select 1 from {table} for update")).await.unwrap();
    let whole = async || Session::lock_table(&url, &table, "access exclusive").await.unwrap();
    let mut session = rows;
    for round in 0..2 {
        assert_eq!(session.waiting().await.unwrap(), 0);
        let mut other = stand.connect("other").await;
        let text = format!("update {table} set text = 'b'");
        let update = tokio::spawn(async move { execute_raw(&mut other, &text).await });
        session.until_somebody_waits().await;
        assert!(!update.is_finished());
        if round == 0 {
            session.rollback().await.unwrap();
            update.await.unwrap().unwrap();
            session = whole().await;
        } else {
            drop(session);
            update.await.unwrap().unwrap();
            break;
        }
    }
}

/// A lock that somebody else does not give up is not waited for for ever, and nobody waits behind the request any more. What is
/// held is held as long as the test wants, whatever the server's own limits.
#[tokio::test]
async fn a_lock_is_waited_for_with_a_bound() {
    let stand = Stand::new().await;
    let (url, table) = (Sandbox::server_url().await, stand.sandbox.table("word"));
    stand.sandbox.execute("insert into :schema.word values ('a'), ('b')").await;
    let query = format!("select 1 from {table} for update");
    let limits = "options=-c%20idle_in_transaction_session_timeout%3D50ms%20-c%20statement_timeout%3D50ms";
    let limited = format!("{url}{}{limits}", if url.contains('?') { '&' } else { '?' });
    let mut holder = Session::lock_rows(&limited, &query).await.unwrap();
    let bound = Duration::from_millis(100);
    let asked = [
        (Session::lock_table_within(&url, &table, "access exclusive", bound).await, "in access exclusive mode"),
        (Session::lock_rows_within(&url, &query, bound).await, "for update"),
    ];
    for (asked, named) in asked {
        let error = asked.unwrap_err();
        assert!(matches!(&error, LockError::NotGiven { waited, .. } if *waited == bound), "{error:?}");
        let said = error.to_string();
        assert!(said.contains(named) && said.contains(&table) && said.contains("100ms"), "{said}");
    }
    eventually("nobody waits", async || (holder.waiting().await.unwrap() == 0).then_some(())).await;
    holder.rollback().await.unwrap();
    let whole = Session::lock_table_within(&url, &table, "access exclusive", bound).await.unwrap();
    whole.rollback().await.unwrap();
    let unknown = Session::lock_table(&url, "nowhere.at_all", "access exclusive").await.unwrap_err();
    assert!(matches!(unknown, LockError::Database(_)), "{unknown:?}");
}

/// A snapshot holds back the oldest one of the server for as long as it is held.
#[tokio::test]
async fn a_snapshot_is_held() {
    let stand = Stand::new().await;
    let session = Session::snapshot(&Sandbox::server_url().await).await.unwrap();
    let holds =
        format!("select count(*) from pg_stat_activity where pid = {} and backend_xmin is not null", session.pid());
    assert_eq!(stand.sandbox.number(&holds).await, 1);
    session.rollback().await.unwrap();
    assert_eq!(stand.sandbox.number(&holds).await, 0);
}

/// What a session has written is there when it commits, and not before; until then no snapshot ends later than it began.
#[tokio::test]
async fn a_writing_transaction_stays_open() {
    let stand = Stand::new().await;
    let mut session = Session::write(&Sandbox::server_url().await, &stand.add("greet", "a")).await.unwrap();
    session.execute(&stand.add("greet", "a")).await.unwrap();
    assert_eq!(stand.holds("a").await, 0);
    let open =
        format!("select count(*) from pg_stat_activity where pid = {} and backend_xid is not null", session.pid());
    assert_eq!(stand.sandbox.number(&open).await, 1);
    session.commit().await.unwrap();
    assert_eq!(stand.holds("a").await, 2);
}

/// A full pool has nothing for anybody, until something is given back.
#[tokio::test]
async fn a_pool_is_full() {
    let stand = Stand::new().await;
    let pool = stand.pool("pool", 3);
    let mut full = FullPool::take(&pool).await.unwrap();
    assert_eq!(stand.proxy.of("pool").open(), 3);
    assert!(pool.try_acquire().is_none());
    assert!(full.give_one_back());
    let one = pool.acquire().await.unwrap();
    assert!(pool.try_acquire().is_none());
    drop((one, full));
    eventually("all are back", async || (pool.num_idle() == 3).then_some(())).await;
}
