//! The context of a message: said once a request or for one publish, and carried to jobs, handlers and what those publish.

use std::sync::{Arc, Mutex};

use outbox::Metadata;
use outbox::prelude::*;

use crate::linkage::only_events;
use crate::sql::texts;
use crate::support::{OrderPlaced, Shop};

/// What handlers saw: who, and in which context.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(String, Metadata)>>>);

impl Seen {
    fn note(&self, handler: &str, envelope: &Envelope) {
        self.0.lock().unwrap().push((format!("{handler} {}", envelope.name), envelope.metadata.clone()));
    }

    fn of(&self, what: &str) -> Metadata {
        let seen = self.0.lock().unwrap();
        let found: Vec<_> = seen.iter().filter(|(name, _)| name == what).collect();
        assert_eq!(found.len(), 1, "{what} in {seen:?}");
        found[0].1.clone()
    }
}

/// A letter came.
#[event("letter.arrived")]
struct LetterArrived {
    #[subject]
    of: String,
}

/// Sorts one.
#[job("letters.sort")]
struct Sort {
    of: String,
}

/// Publishes and enqueues what follows, in its transaction.
#[subscriber(event = "order.placed", name = "letters.follow")]
async fn follow(order: OrderPlaced, envelope: Envelope, mut tx: Tx<'_>, State(seen): State<Seen>) -> HandlerResult {
    seen.note("follow", &envelope);
    LetterArrived { of: order.order_id.clone() }.publish(&mut tx).await?;
    Sort { of: order.order_id }.enqueue(&mut tx).await?;
    Ok(())
}

#[subscriber(event = "letter.arrived", name = "letters.read", idempotent = "it only notes")]
async fn read(_: LetterArrived, envelope: Envelope, State(seen): State<Seen>) -> HandlerResult {
    seen.note("read", &envelope);
    Ok(())
}

#[subscriber(job = "letters.sort", idempotent = "it only notes")]
async fn sort(_: Sort, envelope: Envelope, State(seen): State<Seen>) -> HandlerResult {
    seen.note("sort", &envelope);
    Ok(())
}

/// Inside of the publish; what it publishes follows from the event.
#[subscriber(event = "order.placed", name = "letters.watch", in_transaction)]
async fn watch(_: OrderPlaced, envelope: Envelope, mut tx: Tx<'_>, State(seen): State<Seen>) -> HandlerResult {
    seen.note("watch", &envelope);
    Sort { of: "watch".into() }.enqueue(&mut tx).await?;
    Ok(())
}

/// Publishes from a task of its own, once with the context and once without.
#[subscriber(event = "order.placed", name = "letters.spawn", idempotent = "it only tries")]
async fn spawn(_: OrderPlaced, State(outbox): State<Later>) -> HandlerResult {
    let context = outbox::context();
    let task = tokio::spawn(async move {
        let outbox = outbox.get();
        let mut tx = outbox.begin().await?;
        outbox.publish(&mut tx, &LetterArrived { of: "lost".into() }).await.map_err(|error| error.to_string())?;
        let kept =
            async { LetterArrived { of: "kept".into() }.publish(&mut tx).await.map_err(|error| error.to_string()) };
        outbox.scope_with(context, kept).await?;
        Ok::<_, outbox::BoxError>(tx.commit().await?)
    });
    task.await?
}

/// An outbox that its own handlers hold.
#[derive(Clone, Default)]
struct Later(Arc<Mutex<Option<Outbox>>>);

impl Later {
    fn get(&self) -> Outbox {
        self.0.lock().unwrap().clone().unwrap()
    }
}

fn of_request() -> Metadata {
    Metadata::new().actor("ann").tenant("project 12").correlation("request 7").header("via_webhook", "true")
}

async fn place(outbox: &Outbox) -> outbox::EventId {
    let mut tx = outbox.begin().await.unwrap();
    let id = OrderPlaced::of("o1").publish(&mut tx).await.unwrap().event_id;
    tx.commit().await.unwrap();
    id
}

async fn contexts(shop: &Shop) -> Vec<Metadata> {
    let stored = texts(&shop.sandbox, "select metadata::text from :schema.event order by id").await;
    stored.iter().map(|json| serde_json::from_str(json).unwrap()).collect()
}

/// S1-1, S1-21: what is said once a request is in every event and job of it, reaches their handlers, and is in what those publish and
/// enqueue, in background jobs too, where no request is any more; there with its cause.
#[tokio::test]
async fn what_a_request_says_reaches_every_handler_and_what_follows() {
    let shop = Shop::new().await;
    let seen = Seen::default();
    let handlers = ["letters.follow", "letters.read", "letters.sort"];
    let outbox = shop.outbox(&handlers).state(seen.clone()).build().await.unwrap();
    let order = outbox.scope_with(of_request(), place(&outbox)).await;
    outbox.drain().await.unwrap();
    assert_eq!(seen.of("follow order.placed"), of_request());
    let followed = Metadata { causation: Some(order), ..of_request() };
    assert_eq!(seen.of("read letter.arrived"), followed);
    assert_eq!(seen.of("sort letters.sort"), followed);
    assert_eq!(outbox::context(), Metadata::default(), "nothing is left behind");
}

/// S1-1: `publish_all` and `enqueue` begin with it as well, and a publish says otherwise for itself.
#[tokio::test]
async fn a_publish_says_otherwise_for_itself() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let request = async {
        [LetterArrived { of: "a".into() }].publish_all(&mut tx).await.unwrap();
        LetterArrived { of: "b".into() }
            .publish(&mut tx)
            .actor("bob")
            .header("via_webhook", "false")
            .header("x", "y")
            .await
            .unwrap();
        Sort { of: "c".into() }.enqueue(&mut tx).tenant("project 13").correlation("request 8").await.unwrap();
    };
    outbox.scope_with(of_request(), request).await;
    tx.commit().await.unwrap();
    let said = of_request().actor("bob").header("via_webhook", "false").header("x", "y");
    assert_eq!(contexts(&shop).await, [of_request(), said]);
    let job = texts(&shop.sandbox, "select metadata::text from :schema.job").await;
    let job: Metadata = serde_json::from_str(&job[0]).unwrap();
    assert_eq!(job, of_request().tenant("project 13").correlation("request 8"));
}

/// Counts what belongs to a project.
#[subscriber(event = "*", name = "letters.count", when = has_project, idempotent = "it only notes")]
async fn count(envelope: Envelope, State(seen): State<Seen>) -> HandlerResult {
    seen.note("count", &envelope);
    Ok(())
}

fn has_project(envelope: &Envelope) -> bool {
    envelope.metadata.tenant.is_some()
}

/// S1-19: an event without a project has none, nothing is made up for it; what is for projects skips it.
#[tokio::test]
async fn an_event_may_belong_to_no_project() {
    let shop = Shop::new().await;
    let seen = Seen::default();
    let outbox = shop.outbox(&["letters.count"]).state(seen.clone()).build().await.unwrap();
    outbox.scope(place(&outbox)).await;
    outbox.scope_with(Metadata::new().actor("ann"), place(&outbox)).await;
    let stored = texts(&shop.sandbox, "select metadata::text from :schema.event order by id").await;
    assert_eq!(stored, ["{}", r#"{"actor": "ann"}"#]);
    outbox.scope_with(of_request(), place(&outbox)).await;
    outbox.drain().await.unwrap();
    assert_eq!(seen.of("count order.placed"), of_request());
    let ends = "select status || ' ' || coalesce(reason, '-') from :schema.job order by 1";
    assert_eq!(texts(&shop.sandbox, ends).await, ["succeeded -", "succeeded skipped", "succeeded skipped"]);
}

/// A scope within a scope keeps what it does not say, with or without a context of its own.
#[tokio::test]
async fn a_scope_within_a_scope_keeps_what_it_does_not_say() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let inner = async {
        outbox.scope(place(&outbox)).await;
        outbox.scope_with(Metadata::new().tenant("project 13").header("x", "y"), place(&outbox)).await;
        place(&outbox).await;
    };
    outbox.scope_with(of_request(), inner).await;
    let said = of_request().tenant("project 13").header("x", "y");
    assert_eq!(contexts(&shop).await, [of_request(), said, of_request()]);
}

/// S1-1: two requests that take turns on one thread do not see each other's.
#[tokio::test]
async fn requests_that_take_turns_keep_apart() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let turns = tokio::sync::Barrier::new(2);
    let request = async |actor: &str| {
        let work = async {
            for _ in 0..3 {
                turns.wait().await;
                let mut tx = outbox.begin().await.unwrap();
                turns.wait().await;
                LetterArrived { of: actor.into() }.publish(&mut tx).await.unwrap();
                tx.commit().await.unwrap();
            }
        };
        outbox.scope_with(Metadata::new().actor(actor), work).await;
    };
    tokio::join!(request("ann"), request("bob"));
    let own =
        texts(&shop.sandbox, "select subject_id || ' ' || (metadata->>'actor') from :schema.event order by 1").await;
    assert_eq!(own, ["ann ann", "ann ann", "ann ann", "bob bob", "bob bob", "bob bob"]);
}

/// A task that is spawned begins without a context, and with the one that it is handed.
#[tokio::test]
async fn a_spawned_task_takes_the_context_along() {
    let shop = Shop::new().await;
    let later = Later::default();
    let outbox = shop.outbox(&["letters.spawn"]).state(later.clone()).build().await.unwrap();
    *later.0.lock().unwrap() = Some(outbox.clone());
    let order = outbox.scope_with(of_request(), place(&outbox)).await;
    outbox.drain().await.unwrap();
    let followed = Metadata { causation: Some(order), ..of_request() };
    assert_eq!(contexts(&shop).await, [of_request(), Metadata::default(), followed]);
    *later.0.lock().unwrap() = None;
}

/// S1-1, S1-21: an in-transaction subscriber sees it in the envelope, and what it enqueues follows from the event.
#[tokio::test]
async fn an_in_transaction_subscriber_sees_it() {
    let shop = Shop::new().await;
    let seen = Seen::default();
    let outbox = shop.outbox(&["letters.watch", "letters.sort"]).state(seen.clone()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let publishing = outbox.publish(&mut tx, &OrderPlaced::of("o1")).actor("ann").header("via_webhook", "true");
    let order = publishing.await.unwrap().event_id;
    tx.commit().await.unwrap();
    let said = Metadata::new().actor("ann").header("via_webhook", "true");
    assert_eq!(seen.of("watch order.placed"), said);
    outbox.drain().await.unwrap();
    let followed = Metadata { causation: Some(order), ..said }.correlation(order.to_string());
    assert_eq!(seen.of("sort letters.sort"), followed);
}
