//! A row of the projection that has drifted is mended, beside facts that come.

use billing::{Authority, Policies, projection};
use contracts::{PolicyState, Status};
use outbox::{Drift, Reconcile as _};
use platform::Release;

use crate::books::{Books, policy};

async fn repair(books: &Books, authority: Option<&PolicyState>, seen: Option<&PolicyState>) -> bool {
    // A repair asks nobody: what the authority has was asked for before.
    let policies = Policies { pool: books.sandbox.pool().clone(), authority: Authority::at("http://127.0.0.1:1", "") };
    let drift = Drift { key: "P-1".to_owned(), authority: authority.cloned(), projection: seen.cloned() };
    policies.repair(&drift).await.is_ok()
}

async fn write(books: &Books, state: &PolicyState) {
    let mut connection = books.sandbox.pool().acquire().await.unwrap();
    projection::put(&mut connection, state).await.unwrap();
}

/// What is missing comes, what is wrong is put right, what is of no policy goes; a revision that was damaged too is no hindrance.
#[tokio::test]
async fn each_kind_of_drift_is_mended() {
    let books = Books::open(Release::Second).await;
    let truth = policy("P-1", 12_000, Status::Active, 2);
    assert!(repair(&books, Some(&truth), None).await);
    assert_eq!(books.knows("P-1").await.as_ref(), Some(&truth));
    let wrong = policy("P-1", 1, Status::Active, 99);
    write(&books, &wrong).await;
    assert!(repair(&books, Some(&truth), Some(&wrong)).await);
    assert_eq!(books.knows("P-1").await.as_ref(), Some(&truth));
    assert!(repair(&books, None, Some(&truth)).await);
    assert_eq!(books.knows("P-1").await, None);
}

/// S2-36: a fact that came between the look and the repair is the later, and is not written over by what was true before.
#[tokio::test]
async fn a_fact_that_came_between_is_not_written_over() {
    let books = Books::open(Release::Second).await;
    let (seen, truth) = (policy("P-1", 1, Status::Active, 1), policy("P-1", 12_000, Status::Active, 1));
    let later = policy("P-1", 9_000, Status::Active, 2);
    write(&books, &later).await;
    assert!(!repair(&books, Some(&truth), Some(&seen)).await, "left to the next run");
    assert!(!repair(&books, None, Some(&seen)).await);
    assert!(repair(&books, Some(&truth), None).await);
    assert_eq!(books.knows("P-1").await, Some(later));
}
