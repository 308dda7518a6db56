//! What `#[subscriber]` registers, and how a registered handler is called.

use outbox::prelude::*;
use outbox::{BoxError, Delivery, FromDelivery, Guard, Requirements};
use outbox_core::{Outcome, Source, TypeMap, Verdict, Versions};

use crate::events::SaleMade;
use crate::support::{envelope, handler, run};

#[derive(Clone)]
struct Greeting(&'static str);

type Key = IdempotencyKey;
type Placed = SaleMade;

#[subscriber(event = "sale.made")]
async fn greet(
    sale: SaleMade,
    State(Greeting(text)): State<Greeting>,
    Attempt(attempt): Attempt,
    key: Key,
) -> HandlerResult {
    Err(format!("{text} {} {attempt} {key}", sale.sale_id))?
}

#[subscriber(event = "sale.made")]
async fn r#type(mut sale: Placed, _key: Key) -> Result<(), std::io::Error> {
    sale.units += 1;
    Ok(())
}

/// A local variable of generated code never takes the place of a function of the same name.
#[subscriber(event = "sale.made", when = when, idempotent = "does nothing")]
async fn input(message: SaleMade, delivery: Envelope) -> HandlerResult {
    let _ = (message, delivery);
    Ok(())
}

fn when(sale: &SaleMade) -> bool {
    sale.units > 10
}

#[subscriber(event = "sale.*", name = "audit.append", idempotent = "the log ignores an id that it has", when = is_first)]
async fn append(envelope: Envelope) -> anyhow::Result<()> {
    anyhow::ensure!(!envelope.payload.as_json().is_empty(), "an empty payload");
    Ok(())
}

fn is_first(envelope: &Envelope) -> bool {
    envelope.version == 1
}

#[subscriber(event = "sale.made", version = 2, idempotent = "only counts")]
async fn by_name(_: Envelope) -> Result<(), String> {
    Ok(())
}

#[subscriber(event = "sale.made", idempotent = "only counts")]
async fn by_name_in_version_1(_: outbox::Envelope) -> Result<(), BoxError> {
    Ok(())
}

/// What several handlers take, gathered: its guard is that of the key inside.
struct Gateway {
    greeting: Greeting,
    key: IdempotencyKey,
}

impl<'a> FromDelivery<'a> for Gateway {
    const GUARD: Guard = <IdempotencyKey as FromDelivery<'a>>::GUARD;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        let State(greeting) = State::from_delivery(delivery)?;
        Ok(Self { greeting, key: IdempotencyKey::from_delivery(delivery)? })
    }

    fn requires(out: &mut Requirements) {
        State::<Greeting>::requires(out);
    }
}

#[subscriber(event = "sale.made")]
async fn via_gateway(_: SaleMade, gateway: Gateway) -> Result<(), Failure> {
    match gateway.greeting.0 {
        "" => Err(Failure::quarantine(format!("{} has nothing to say", gateway.key))),
        _ => Ok(()),
    }
}

fn greeting(text: &'static str) -> TypeMap {
    let mut state = TypeMap::default();
    state.insert(Greeting(text));
    state
}

const SALE: &str = r#"{"sale_id":"s-1","units":2}"#;

mod inner {
    use outbox::prelude::*;

    use crate::events::SaleMade;

    #[subscriber(event = "sale.made", idempotent = "does nothing")]
    async fn named_by_its_module(_: SaleMade) -> HandlerResult {
        Ok(())
    }
}

/// S0-15: the name is made from the consumer's own module and function, unless it says another.
#[test]
fn the_stored_name_is_module_and_function() {
    assert_eq!(handler("calling.greet").module(), "calling");
    assert_eq!(handler("calling.type").source, Source::Event("sale.made"));
    assert_eq!(handler("inner.named_by_its_module").place.module_path, concat!(module_path!(), "::inner"));
    assert_eq!(handler("audit.append").place.module_path, module_path!());
}

#[test]
fn the_payloads_version_is_the_handlers() {
    assert_eq!(handler("calling.greet").versions, Versions::Only(&[1]));
    assert_eq!(handler("calling.by_name").versions, Versions::Only(&[2]));
    assert_eq!(handler("calling.by_name_in_version_1").versions, Versions::Only(&[1]));
    assert_eq!(handler("audit.append").versions, Versions::Any);
    assert_eq!(handler("audit.append").source, Source::Event("sale.*"));
}

/// S0-33: read from the types, so that aliases and extractors of the user's own count.
#[test]
fn the_guard_is_that_of_the_parameters() {
    for (name, guard) in [
        ("calling.greet", Guard::Key),
        ("calling.type", Guard::Key),
        ("calling.via_gateway", Guard::Key),
        ("calling.input", Guard::None),
    ] {
        assert_eq!(handler(name).guard, guard, "{name}");
    }
    assert_eq!(handler("calling.by_name").idempotent, Some("only counts"));
    assert_eq!(handler("calling.greet").idempotent, None);
}

#[test]
fn the_state_that_a_handler_needs_is_listed() {
    for (name, needs) in [("calling.greet", 1), ("calling.via_gateway", 1), ("calling.input", 0)] {
        let mut required = Requirements::new();
        (handler(name).requires)(&mut required);
        assert_eq!(required.len(), needs, "{name}");
        assert!(required.iter().all(|need| (need.name)() == std::any::type_name::<Greeting>()));
    }
}

#[tokio::test]
async fn parameters_are_filled_from_the_delivery() {
    let outcome = run("calling.greet", SALE, &greeting("hello")).await;
    let error = "hello s-1 3 01ARZ3NDEKTSV4RRFFQ69G5FAV:calling.greet".to_owned();
    assert_eq!(outcome, Outcome::Failed { verdict: Verdict::Retry, error });
    assert_eq!(run("calling.type", SALE, &TypeMap::default()).await, Outcome::Done);
    assert_eq!(run("calling.via_gateway", SALE, &greeting("hello")).await, Outcome::Done);
}

/// O7: a payload that does not decode is quarantined at once: no retry will make it fit.
#[tokio::test]
async fn a_payload_that_does_not_fit_is_quarantined() {
    let outcome = run("calling.type", r#"{"sale_id":"s-1"}"#, &TypeMap::default()).await;
    assert!(matches!(outcome, Outcome::Failed { verdict: Verdict::Quarantine, .. }), "{outcome:?}");
}

#[tokio::test]
async fn state_that_is_missing_fails_the_attempt() {
    let outcome = run("calling.greet", SALE, &TypeMap::default()).await;
    let Outcome::Failed { verdict: Verdict::Retry, error } = outcome else { panic!("{outcome:?}") };
    assert!(error.contains("Greeting"), "{error}");
}

#[tokio::test]
async fn an_event_that_when_declines_is_skipped() {
    let state = TypeMap::default();
    assert_eq!(run("calling.input", SALE, &state).await, Outcome::Skipped);
    assert_eq!(run("calling.input", r#"{"sale_id":"s-1","units":11}"#, &state).await, Outcome::Done);
    assert_eq!(run("audit.append", SALE, &state).await, Outcome::Done);
}

/// S0-32: the function is untouched, so a unit test calls it as what it is.
#[tokio::test]
async fn a_handler_is_an_ordinary_function() {
    let sale = || SaleMade { sale_id: "s-1".into(), units: 1 };
    let error = greet(sale(), State(Greeting("hi")), Attempt(1), Key::new("any")).await.expect_err("it greets");
    assert_eq!(error.to_string(), "hi s-1 1 any");
    append(envelope("sale.made", SALE)).await.expect("a payload");
    input(sale(), envelope("sale.made", SALE)).await.expect("nothing happens");
}
