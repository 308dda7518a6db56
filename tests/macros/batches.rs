//! Handlers that take a batch, without a database.

use std::sync::Arc;

use outbox::prelude::*;
use outbox::{BatchItem, BatchJob, BatchOutcomes, Metadata};
use outbox_core::{Delivery, Envelope, Item, Outcome, TypeMap, Verdict};

use crate::events::SaleMade;
use crate::support::{envelope, event_id, handler};

#[subscriber(event = "sale.made", name = "batches.each", when = is_sold, batch = 50, idempotent = "does nothing")]
async fn each(sales: Batch<SaleMade>) -> Vec<Result<(), String>> {
    sales
        .iter()
        .map(|sale| if sale.units > 9 { Err(format!("{} of {}", sale.units, sale.key())) } else { Ok(()) })
        .collect()
}

fn is_sold(sale: &SaleMade) -> bool {
    sale.units > 0
}

type Sales = Batch<SaleMade>;

#[subscriber(event = "sale.made", name = "batches.alias", idempotent = "does nothing")]
async fn alias(sales: Sales, State(miscounts): State<bool>) -> Result<Vec<Result<(), Failure>>, Failure> {
    Ok((0..sales.len() + usize::from(miscounts)).map(|_| Ok(())).collect())
}

#[subscriber(event = "sale.made", name = "batches.named", idempotent = "only counts")]
async fn named(sales: Batch<Envelope>) -> HandlerResult {
    for sale in sales {
        let (envelope, job): (Envelope, BatchJob) = sale.into_parts();
        if envelope.payload.as_json().len() > 40 {
            job.fail(Failure::discard("too long"));
        }
    }
    Ok(())
}

/// Undecoded and not copied: all jobs of an event share its envelope in memory.
#[subscriber(event = "sale.*", name = "batches.shared", idempotent = "only compares")]
async fn shared(sales: Batch<Arc<Envelope>>) -> Vec<Result<(), String>> {
    let is_shared = |sale: &BatchItem<Arc<Envelope>>| std::ptr::eq(&raw const ***sale, sale.envelope());
    sales.iter().map(|sale| if is_shared(sale) { Ok(()) } else { Err("a copy".to_owned()) }).collect()
}

#[subscriber(job = "batches.mail", idempotent = "does nothing")]
async fn mail(mails: Batch<Mail>) -> HandlerResult {
    let _ = mails;
    Ok(())
}

#[job("batches.mail")]
struct Mail;

fn items(payloads: &[&str]) -> Vec<Item> {
    let item = |(place, payload): (usize, &&str)| Item {
        envelope: Arc::new(envelope("sale.made", payload)),
        attempt: 3,
        effect: format!("{place:026}").parse().expect("an id of digits"),
        handler: "batches.each",
    };
    payloads.iter().enumerate().map(item).collect()
}

/// What the function came to, and what was said of each item.
async fn run(name: &str, state: &TypeMap, payloads: &[&str]) -> (Outcome, Vec<Option<Outcome>>) {
    let (items, runtime, outcomes) = (items(payloads), TypeMap::default(), BatchOutcomes::of(payloads.len()));
    let delivery = Delivery::new(&items, state, &runtime).with_outcomes(&outcomes);
    ((handler(name).call)(delivery).await, outcomes.close())
}

fn failed(error: &str) -> Outcome {
    Outcome::Failed { verdict: Verdict::Retry, error: error.to_owned() }
}

const SOLD: &str = r#"{"sale_id":"s-1","units":1}"#;
const UNSOLD: &str = r#"{"sale_id":"s-2","units":0}"#;
const MANY: &str = r#"{"sale_id":"s-3","units":10}"#;

#[test]
fn a_batch_is_registered_with_its_size() {
    assert_eq!(handler("batches.each").settings.batch, Some(50));
    assert_eq!(handler("batches.alias").settings.batch, Some(100));
    assert_eq!(handler("batches.mail").settings.batch, Some(100));
    assert_eq!(handler("calling.greet").settings.batch, None);
}

#[tokio::test]
async fn outcomes_stand_in_the_order_of_those_that_the_function_saw() {
    let (all, each) = run("batches.each", &TypeMap::default(), &[SOLD, "7", UNSOLD, MANY]).await;
    assert_eq!(all, Outcome::Done);
    assert_eq!(each[0], Some(Outcome::Done));
    assert!(matches!(&each[1], Some(Outcome::Failed { verdict: Verdict::Quarantine, .. })), "{each:?}");
    assert_eq!(each[2..], [Some(Outcome::Skipped), Some(failed("10 of 00000000000000000000000003:batches.each"))]);
}

#[tokio::test]
async fn a_function_is_not_called_for_nothing() {
    let (_, each) = run("batches.each", &TypeMap::default(), &[UNSOLD, UNSOLD]).await;
    assert_eq!(each, [Some(Outcome::Skipped), Some(Outcome::Skipped)]);
    let (_, each) = run("batches.each", &TypeMap::default(), &["7"]).await;
    assert!(matches!(each.as_slice(), [Some(Outcome::Failed { verdict: Verdict::Quarantine, .. })]), "{each:?}");
}

#[tokio::test]
async fn a_wrong_number_of_outcomes_fails_all() {
    let mut state = TypeMap::default();
    state.insert(false);
    assert_eq!(run("batches.alias", &state, &[SOLD, SOLD]).await, (Outcome::Done, vec![Some(Outcome::Done); 2]));
    state.insert(true);
    let error = "the handler answered 3 outcomes for 2 messages: answer one for each, in their order";
    assert_eq!(run("batches.alias", &state, &[SOLD, SOLD]).await, (failed(error), vec![None; 2]));
}

#[tokio::test]
async fn an_item_of_which_nothing_is_said_takes_what_the_function_returns() {
    let long = format!(r#"{{"sale_id":"{}","units":1}}"#, "x".repeat(40));
    let (all, each) = run("batches.named", &TypeMap::default(), &[SOLD, &long]).await;
    let discarded = Outcome::Failed { verdict: Verdict::Discard, error: "too long".to_owned() };
    assert_eq!((all, each), (Outcome::Done, vec![None, Some(discarded)]));
}

#[tokio::test]
async fn a_batch_of_shared_envelopes_copies_none() {
    let (outcome, said) = run("batches.shared", &TypeMap::default(), &[SOLD, "no json"]).await;
    assert_eq!((outcome, said), (Outcome::Done, vec![Some(Outcome::Done), Some(Outcome::Done)]));
}

/// S0-32: a unit test makes a batch, and reads what was said of each.
#[tokio::test]
async fn a_unit_test_calls_it_as_what_it_is() {
    let sales = Batch::of(["a", "b"].map(|id| SaleMade { sale_id: id.to_owned(), units: 1 }));
    sales[1].fail("no");
    assert_eq!(sales.outcomes().said(1), Some(failed("no")));
    assert_eq!(each(sales).await, [Ok(()), Ok(())]);
    let named_by_hand =
        Batch::of_envelopes([Envelope { metadata: Metadata::new().actor("ann"), ..envelope("sale.made", SOLD) }]);
    assert_eq!((named_by_hand[0].envelope().id, named_by_hand[0].attempt()), (event_id(), 1));
    named(named_by_hand).await.unwrap();
}

#[test]
fn what_is_shown_of_a_batch_holds_no_payload() {
    let shown = format!("{:?}", Batch::of([SaleMade { sale_id: "secret".to_owned(), units: 1 }]));
    assert!(shown.contains("sale.made") && !shown.contains("secret"), "{shown}");
}
