//! Versions of one event: what was stored as an earlier one is read as the later on every path, a binary leaves alone what it does not
//! know, and an event can be published for those that know only the earlier one.

mod both;

use outbox::prelude::*;
use outbox::{EventId, Live, Outbox, OutboxBuilder, Registry, SubscriberDescriptor, WireName};
use outbox_testing::{Logs, eventually, published};
use serde::{Deserialize, Serialize};

use crate::floor::Worker;
use crate::sql::{text, texts};
use crate::support::{Answer, Script, Shop};

/// As it began.
#[event("policy.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyCreatedV1 {
    #[subject]
    policy: String,
    premium: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Money {
    cents: i64,
    currency: String,
}

/// A premium has a currency.
#[event("policy.created", version = 2, upcast_from = PolicyCreatedV1)]
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyCreatedV2 {
    #[subject]
    policy: String,
    premium: Money,
}

impl From<PolicyCreatedV1> for PolicyCreatedV2 {
    fn from(old: PolicyCreatedV1) -> Self {
        Self { policy: old.policy, premium: Money { cents: old.premium, currency: "EUR".into() } }
    }
}

/// A premium is due once a month or once a year, and none is below nothing.
#[event("policy.created", version = 3, upcast_from = PolicyCreatedV2)]
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyCreated {
    #[subject]
    policy: String,
    premium: Money,
    yearly: bool,
}

impl TryFrom<PolicyCreatedV2> for PolicyCreated {
    type Error = String;

    fn try_from(old: PolicyCreatedV2) -> Result<Self, String> {
        if old.premium.cents < 0 {
            return Err("a premium is not below nothing".into());
        }
        Ok(Self { policy: old.policy, premium: old.premium, yearly: false })
    }
}

fn v1(policy: &str, premium: i64) -> PolicyCreatedV1 {
    PolicyCreatedV1 { policy: policy.into(), premium }
}

fn v2(policy: &str, cents: i64) -> PolicyCreatedV2 {
    v1(policy, cents).into()
}

fn v3(policy: &str, cents: i64) -> PolicyCreated {
    v2(policy, cents).try_into().unwrap()
}

/// The handler of a binary that knows version 1 only.
#[subscriber(event = "policy.created", name = "billing.of_old", max_attempts = 3, idempotent = "only notes")]
async fn of_old(policy: PolicyCreatedV1, State(script): State<Script>) -> HandlerResult {
    script.note(format!("old {} {}", policy.policy, policy.premium));
    Ok(())
}

/// The same handler in the binary behind it.
#[subscriber(event = "policy.created", name = "billing.of_new", max_attempts = 3, idempotent = "only notes")]
async fn of_new(policy: PolicyCreated, envelope: Envelope, State(script): State<Script>) -> HandlerResult {
    script.note(shown("new", &policy));
    assert_eq!(envelope.decode::<PolicyCreated>()?, policy);
    script.play("billing.of_new").await
}

#[subscriber(event = "policy.created", name = "billing.bulk", idempotent = "only notes")]
async fn bulk(policies: Batch<PolicyCreated>, State(script): State<Script>) -> HandlerResult {
    policies.iter().for_each(|policy| script.note(shown("bulk", policy)));
    Ok(())
}

#[subscriber(event = "policy.created", name = "billing.large", when = is_large, idempotent = "only notes")]
async fn large(policy: PolicyCreated, State(script): State<Script>) -> HandlerResult {
    script.note(shown("large", &policy));
    Ok(())
}

fn is_large(policy: &PolicyCreated) -> bool {
    policy.premium.cents >= 100
}

#[subscriber(event = "policy.created", name = "billing.ledger", in_transaction)]
async fn ledger(policy: PolicyCreated, State(script): State<Script>) -> HandlerResult {
    script.note(shown("ledger", &policy));
    Ok(())
}

/// A relay, say: it takes everything undecoded.
#[subscriber(event = "policy.*", name = "billing.watch", max_attempts = 3, backoff = fixed("20ms"), idempotent = "only notes")]
async fn watch(event: Envelope, State(script): State<Script>) -> HandlerResult {
    let wire = event.wire_name().ok_or("no wire name")?;
    let Envelope { id, occurred_at, .. } = &event;
    script.note(format!("{wire} {id} {occurred_at} {} {}", event.correlation(), event.payload.as_json()));
    script.play("billing.watch").await
}

fn shown(who: &str, policy: &PolicyCreated) -> String {
    let PolicyCreated { policy, premium, yearly } = policy;
    format!("{who} {policy} {} {} {yearly}", premium.cents, premium.currency)
}

/// A binary that links these handlers, each under a name of its own choice.
fn binary(shop: &Shop, handlers: &[(&str, &'static str)]) -> OutboxBuilder {
    let linked = Registry::linked();
    let handlers: Vec<_> = handlers.iter().map(|(from, name)| under(&linked, from, name)).collect();
    shop.bare(Registry::of(linked.events().iter().copied(), linked.jobs().iter().copied(), handlers))
}

fn under(linked: &Registry, from: &str, name: &'static str) -> &'static SubscriberDescriptor {
    let found = linked.subscribers().iter().find(|one| one.name == from).expect(from);
    let SubscriberDescriptor { name: _, aliases, source, in_transaction, versions, guard, idempotent, .. } = **found;
    let SubscriberDescriptor { settings, requires, call, place, .. } = **found;
    Box::leak(Box::new(SubscriberDescriptor {
        name,
        aliases,
        source,
        in_transaction,
        versions,
        guard,
        idempotent,
        settings,
        requires,
        call,
        place,
    }))
}

async fn publish(outbox: &Outbox, event: &impl outbox::Event) -> EventId {
    let mut tx = outbox.begin().await.unwrap();
    let event_id = outbox.publish(&mut tx, event).await.unwrap().event_id;
    tx.commit().await.unwrap();
    event_id
}

/// S2-12, S2-23: whatever hands over an event hands over the type that the handler asks for, whichever version is stored: alone, in a
/// batch, to `when`, in the publisher's transaction, from an envelope, on a live stream, to a test.
#[tokio::test]
async fn every_path_reads_every_version() {
    let shop = Shop::new().await;
    let names = ["billing.of_new", "billing.bulk", "billing.large", "billing.ledger"];
    let outbox = shop.outbox(&names).poll_only().build().await.unwrap();
    let mut live = outbox.live().events(["policy.*"]).subscribe().unwrap();
    assert!(matches!(live.next().await, Some(Live::Missed(_))));
    publish(&outbox, &v1("a", 1)).await;
    publish(&outbox, &v2("b", 200)).await;
    publish(&outbox, &v3("c", 300)).await;
    outbox.drain().await.unwrap();
    let expected = |who: &str| ["a 1", "b 200", "c 300"].map(|policy| format!("{who} {policy} EUR false"));
    let noted = |who: &str| {
        let mut notes: Vec<_> =
            shop.script.notes().into_iter().filter(|note| note.starts_with(&format!("{who} "))).collect();
        notes.sort();
        notes
    };
    for who in ["new", "bulk", "ledger"] {
        assert_eq!(noted(who), expected(who));
    }
    assert_eq!(noted("large"), expected("large")[1..]);
    assert!(shop.sandbox.jobs().await.0.iter().all(|job| job.status == "succeeded" && job.attempts == 1));
    let mut tx = outbox.begin().await.unwrap();
    let all = published::<PolicyCreated>(&mut tx, shop.sandbox.schema()).await;
    assert_eq!(all, [v3("a", 1), v3("b", 200), v3("c", 300)]);
    let both = published::<PolicyCreatedV2>(&mut tx, shop.sandbox.schema()).await;
    assert_eq!(both, [v2("a", 1), v2("b", 200)], "what is later than a type is not the type's");
    tx.rollback().await.unwrap();
    for expected in [v3("a", 1), v3("b", 200), v3("c", 300)] {
        let Some(Live::Event(event)) = live.next().await else { panic!("an event") };
        assert_eq!(event.decode::<PolicyCreated>().unwrap(), expected);
    }
}

/// S2-12: a replay reaches events of earlier versions too, and the handler reads them as it reads all others.
#[tokio::test]
async fn a_replay_reads_earlier_versions() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["billing.of_new"]).build().await.unwrap();
    let event = publish(&outbox, &v1("a", 1)).await;
    outbox.drain().await.unwrap();
    outbox.replay("billing.of_new").ids([event]).run().await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!(shop.script.count("new a 1 EUR false"), 2, "{:?}", shop.script.notes());
}

/// S2-12: a rolling deploy: binaries with both versions of a handler run at once, and publishers of both. The old binary takes what it
/// knows and never what it does not; every event is handled once, and nothing is charged.
#[tokio::test]
async fn old_and_new_binaries_of_a_handler_run_at_once() {
    let shop = Shop::new().await;
    let old = binary(&shop, &[("billing.of_old", "billing.project")]).build().await.unwrap();
    let new = binary(&shop, &[("billing.of_new", "billing.project")]).build().await.unwrap();
    for number in 0..10 {
        publish(&old, &v1(&format!("a{number}"), number)).await;
        publish(&new, &v3(&format!("b{number}"), number)).await;
    }
    assert_eq!(old.drain().await.unwrap().executions, 10);
    let waiting = shop.sandbox.jobs().await;
    assert_eq!((waiting.succeeded(), waiting.live()), (10, 10));
    assert!(waiting.0.iter().filter(|job| job.status == "pending").all(|job| job.attempts == 0));
    publish(&old, &v1("late", 7)).await;
    assert_eq!(new.drain().await.unwrap().executions, 11);
    let notes = shop.script.notes();
    assert_eq!(notes.iter().filter(|note| note.starts_with("old a")).count(), 10, "{notes:?}");
    assert_eq!(notes.iter().filter(|note| note.starts_with("new b")).count(), 10, "{notes:?}");
    assert_eq!(shop.script.count("new late 7 EUR false"), 1, "the new binary takes the earlier version too");
    assert!(shop.sandbox.jobs().await.0.iter().all(|job| job.status == "succeeded" && job.attempts == 1));
}

/// S2-12: a handler whose binaries know only an earlier version starves loudly: `unclaimed()` and the log at a start say which handler
/// waits for which version, and which it takes. Its jobs are kept, uncharged, and run when a binary comes that knows the version.
#[tokio::test]
async fn a_handler_that_starves_on_a_version_is_told_of() {
    let shop = Shop::new().await;
    let old = binary(&shop, &[("billing.of_old", "billing.project")]).build().await.unwrap();
    let new = binary(&shop, &[]).build().await.unwrap();
    publish(&new, &v3("a", 1)).await;
    publish(&new, &v3("b", 2)).await;
    assert_eq!(old.drain().await.unwrap().executions, 0);
    let running = Worker::start(old);
    eventually("it is registered", async || {
        (shop.sandbox.number("select count(*) from :schema.worker").await == 1).then_some(())
    })
    .await;
    // Asked by a process that itself runs nothing.
    let unclaimed = new.unclaimed().await.unwrap();
    let [starving] = unclaimed.as_slice() else { panic!("{unclaimed:?}") };
    assert_eq!((starving.job_type.as_str(), starving.version, starving.waiting), ("billing.project", 3, 2));
    assert_eq!(starving.taken, [1]);
    let sentence = starving.to_string();
    let says = "2 jobs of `billing.project` wait for a binary that knows version 3, and those that run take version 1";
    assert!(sentence.starts_with(says), "{sentence}");
    let logs = Logs::warnings();
    binary(&shop, &[("billing.of_old", "billing.project")]).build().await.unwrap();
    assert!(logs.lines().iter().any(|line| line.contains(says)), "{:?}", logs.lines());
    let jobs = shop.sandbox.jobs().await;
    assert!(jobs.0.iter().all(|job| job.status == "pending" && job.attempts == 0), "{jobs:?}");
    running.stop().await;
    let caught_up = binary(&shop, &[("billing.of_new", "billing.project")]).build().await.unwrap();
    assert_eq!(caught_up.unclaimed().await.unwrap(), []);
    assert_eq!(caught_up.drain().await.unwrap().executions, 2);
}

/// A letter to be written, as it began.
#[job("claims.write")]
struct WriteV1 {
    to: String,
}

/// With a language.
#[job("claims.write", version = 2, upcast_from = WriteV1)]
struct Write {
    to: String,
    language: String,
}

impl From<WriteV1> for Write {
    fn from(old: WriteV1) -> Self {
        Self { to: old.to, language: "en".into() }
    }
}

#[subscriber(job = "claims.write", idempotent = "only notes")]
async fn write(letter: Write, State(script): State<Script>) -> HandlerResult {
    script.note(format!("letter to {} in {}", letter.to, letter.language));
    Ok(())
}

/// S2-12: jobs that yesterday's binary has queued are run by today's.
#[tokio::test]
async fn a_job_of_an_earlier_version_is_run() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["claims.write"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.enqueue(&mut tx, &WriteV1 { to: "ann".into() }).await.unwrap();
    outbox.enqueue(&mut tx, &Write { to: "bob".into(), language: "fr".into() }).await.unwrap();
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    let mut notes = shop.script.notes();
    notes.sort();
    assert_eq!(notes, ["letter to ann in en", "letter to bob in fr"]);
}

/// S2-23, S2-70: a payload that does not decode as its version, and a value that has no later form, end at once as failed, quarantined,
/// with the version in the error; neither is tried again, acknowledged, or holds up others.
#[tokio::test]
async fn what_cannot_be_upcast_is_quarantined_at_once() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["billing.of_new", "billing.bulk"]).build().await.unwrap();
    let refused = publish(&outbox, &v1("refused", -1)).await;
    let broken = publish(&outbox, &v1("broken", 1)).await;
    let good = publish(&outbox, &v1("good", 1)).await;
    let breaks = format!(
        "begin; set local outbox.owner_work = 'on';
         update :schema.event set payload = '{{\"policy\": \"broken\", \"premium\": \"s3cret\"}}' where id = '{}'; commit",
        broken.as_uuid()
    );
    shop.sandbox.execute(&breaks).await;
    outbox.drain().await.unwrap();
    let jobs = shop.sandbox.jobs().await;
    for handler in ["billing.of_new", "billing.bulk"] {
        let job = |event| jobs.of(handler).0.into_iter().find(|job| job.event_id == Some(event)).unwrap();
        for (event, error) in [
            (refused, "this `policy.created.v2` does not become `policy.created.v3`: a premium is not below nothing"),
            (
                broken,
                "`policy.created.v1` cannot be read: the payload does not decode at `premium`: invalid type: string",
            ),
        ] {
            let job = job(event);
            assert_eq!((job.status.as_str(), job.reason.as_deref(), job.attempts), ("failed", Some("quarantined"), 1));
            let told = job.last_error.unwrap();
            assert!(told.starts_with(error) && !told.contains("s3cret"), "{told}");
        }
        assert_eq!(job(good).status, "succeeded");
    }
}

/// S2-11: a field that a later binary adds is no matter to one that does not know it.
#[tokio::test]
async fn a_field_that_is_added_breaks_no_old_binary() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["billing.of_old", "billing.bulk"]).build().await.unwrap();
    publish(&outbox, &v1("a", 1)).await;
    let adds = "begin; set local outbox.owner_work = 'on';
                update :schema.event set payload = payload || '{\"channel\": {\"kind\": \"web\"}, \"tags\": [1, null]}'; commit";
    shop.sandbox.execute(adds).await;
    outbox.drain().await.unwrap();
    assert_eq!(shop.script.notes(), ["bulk a 1 EUR false", "old a 1"]);
}

/// S2-4, S2-8: a consumer sees one event id, name, version, time and correlation at every attempt: those that were stored with the
/// event, and none of the delivery's. Name and version make the wire name, and the wire name makes them.
#[tokio::test]
async fn the_envelope_is_the_same_at_every_attempt() {
    let shop = Shop::new().await;
    let again = |why: &'static str| Answer::With(Failure::retry_after(std::time::Duration::from_millis(20), why));
    shop.script.answers("billing.watch", [again("once"), again("twice")]);
    let outbox = shop.outbox(&["billing.watch"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let event = outbox.publish(&mut tx, &v2("a", 1)).correlation("request-7").await.unwrap().event_id;
    tx.commit().await.unwrap();
    let stored = texts(&shop.sandbox, "select extract(epoch from occurred_at)::text from :schema.event").await;
    eventually("its third attempt succeeds", async || {
        outbox.drain().await.unwrap();
        (shop.sandbox.jobs().await.succeeded() == 1).then_some(())
    })
    .await;
    let notes: Vec<_> = shop.script.notes().into_iter().filter(|note| note != "billing.watch").collect();
    assert_eq!(notes.len(), 3);
    assert!(notes.iter().all(|note| *note == notes[0]), "{notes:#?}");
    let words: Vec<_> = notes[0].split(' ').collect();
    assert_eq!((words[0], words[1]), (PolicyCreatedV2::WIRE_NAME, event.to_string().as_str()));
    assert!(notes[0].contains(" request-7 {"), "{}", notes[0]);
    let occurred = format!("{} {} {}", words[2], words[3], words[4]);
    let occurred = format!("select extract(epoch from '{occurred}'::timestamptz)::text");
    assert_eq!(text(&shop.sandbox, &occurred).await, stored[0]);
    let wire: WireName = words[0].parse().unwrap();
    assert_eq!((wire.name(), wire.version()), (PolicyCreatedV2::NAME, PolicyCreatedV2::VERSION));
    assert_eq!((PolicyCreatedV1::WIRE_NAME, PolicyCreated::WIRE_NAME), ("policy.created.v1", "policy.created.v3"));
}
