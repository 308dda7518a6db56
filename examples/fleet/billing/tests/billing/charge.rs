//! A charge for each policy.

use contracts::{InvoiceIssued, Money, PolicyCreatedV2};
use platform::Release;

use crate::books::Books;

fn sold() -> PolicyCreatedV2 {
    PolicyCreatedV2 { policy_id: "P-1".to_owned(), holder: "Knoll".to_owned(), premium: Money::euros(12_000) }
}

/// A fact that comes twice to the handler is charged for once, and told of once. The table would take a second row.
#[tokio::test]
async fn a_policy_is_charged_for_once() {
    let books = Books::open(Release::Second).await;
    outbox_testing::deliver_twice(&books.outbox, "billing.charge", &sold(), async || books.charged().await).await;
    assert_eq!(books.charged().await, 12_000);
    let told: Vec<InvoiceIssued> = books.sandbox.published().await;
    let (invoice, policy_id) = ("I-P-1".to_owned(), "P-1".to_owned());
    assert_eq!(told, [InvoiceIssued { invoice, policy_id, amount: Money::euros(12_000) }]);
    books.sandbox.execute("insert into billing.ledger select * from billing.ledger").await;
    assert_eq!(books.charged().await, 24_000, "it would be seen");
}

/// The charge, its fact and the job's completion are one commit: when the fact cannot be published, nothing was charged.
#[tokio::test]
async fn without_its_fact_nothing_is_charged() {
    let books = Books::open(Release::Second).await;
    books
        .sandbox
        .execute(
            "create function system.refuse() returns trigger language plpgsql as $$
             begin if new.event_type = 'invoice.issued' then raise exception 'no'; end if; return new; end $$;
             create trigger refuse before insert on system.event for each row execute function system.refuse()",
        )
        .await;
    books.told(&sold()).await;
    assert_eq!(books.charged().await, 0);
    assert!(books.knows("P-1").await.is_some(), "the other handler's work stands");
}
