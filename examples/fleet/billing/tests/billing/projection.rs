//! Policies as billing knows them.

use contracts::{PolicyAmended, PolicyCancelled, PolicyCreatedV2, PolicyState, Status};
use platform::Release;

use crate::books::{Books, policy};

/// In whichever order facts come, and however often, the projection ends as the authority did.
#[tokio::test]
async fn facts_in_any_order_end_the_same() {
    let books = Books::open(Release::Second).await;
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (number, order) in orders.into_iter().enumerate() {
        let policy_id = format!("P-{number}");
        for fact in order.into_iter().chain(order) {
            tell(&books, &policy_id, fact).await;
        }
        assert_eq!(books.knows(&policy_id).await, Some(policy(&policy_id, 9_000, Status::Cancelled, 3)), "{order:?}");
    }
}

async fn tell(books: &Books, policy_id: &str, fact: usize) {
    let states = [
        policy(policy_id, 12_000, Status::Active, 1),
        policy(policy_id, 9_000, Status::Active, 2),
        policy(policy_id, 9_000, Status::Cancelled, 3),
    ];
    let PolicyState { policy_id, holder, premium, revision, .. } = states[fact].clone();
    match fact {
        0 => books.told(&PolicyCreatedV2 { policy_id, holder, premium }).await,
        1 => books.told(&PolicyAmended { policy_id, holder, premium, revision }).await,
        _ => books.told(&PolicyCancelled { policy_id, holder, premium, revision }).await,
    }
}
