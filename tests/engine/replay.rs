//! replay: stored events are handled once more, under their own ids, and nothing is had twice.

use std::time::Instant;

use outbox::{EventId, IdempotencyKey, OperationError, Outbox, Replayed, State, event, subscriber};
use sqlx::types::chrono::Utc;

use crate::floor::{Do, Floor, ask, fail};

#[event("barrel.rolled")]
pub struct BarrelRolled {
    #[subject]
    pub barrel: i64,
}

#[event("barrel.burst")]
pub struct BarrelBurst {
    #[subject]
    pub barrel: i64,
}

/// Which keys a handler was called with.
#[derive(Clone, Default)]
pub struct Keys(std::sync::Arc<std::sync::Mutex<Vec<String>>>);

#[subscriber(event = "barrel.*", name = "barrels.watch")]
async fn watch(
    envelope: outbox::Envelope,
    key: IdempotencyKey,
    State(keys): State<Keys>,
) -> Result<(), std::io::Error> {
    keys.0.lock().unwrap().push(format!("{} {key}", envelope.id));
    Ok(())
}

#[subscriber(event = "barrel.rolled", name = "barrels.late", idempotent = "it does nothing")]
async fn late(_sent: BarrelRolled) -> Result<(), std::io::Error> {
    Ok(())
}

#[outbox::job("barrels.weigh")]
pub struct Weigh {
    pub barrel: i64,
}

#[subscriber(job = "barrels.weigh", idempotent = "it does nothing")]
async fn weigh(_job: Weigh) -> Result<(), std::io::Error> {
    Ok(())
}

struct Barrels {
    floor: Floor,
    outbox: Outbox,
    keys: Keys,
}

impl Barrels {
    async fn new(handlers: &[&str]) -> Self {
        let (floor, keys) = (Floor::new().await, Keys::default());
        let outbox = floor.outbox(handlers).state(keys.clone()).build().await.unwrap();
        Self { floor, outbox, keys }
    }

    async fn send(&self, barrel: i64) -> EventId {
        let mut tx = self.outbox.begin().await.unwrap();
        let sent = self.outbox.publish(&mut tx, &BarrelRolled { barrel }).await.unwrap();
        tx.commit().await.unwrap();
        sent.event_id
    }

    async fn lose(&self, barrel: i64) {
        let mut tx = self.outbox.begin().await.unwrap();
        self.outbox.publish(&mut tx, &BarrelBurst { barrel }).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn jobs(&self) -> i64 {
        self.floor.sandbox.number("select count(*) from :schema.job").await
    }
}

fn enqueued(count: u64) -> Replayed {
    let mut replayed = Replayed::default();
    replayed.enqueued = count;
    replayed
}

/// S2-34, S2-69: what is replayed is the event that there is, under its id and its idempotency key; no event is added.
#[tokio::test]
async fn a_replayed_event_keeps_its_id_and_its_key() {
    let it = Barrels::new(&["barrels.watch"]).await;
    it.send(1).await;
    it.outbox.drain().await.unwrap();
    assert_eq!(it.outbox.replay("barrels.watch").run().await.unwrap(), enqueued(1));
    it.outbox.drain().await.unwrap();
    let keys = it.keys.0.lock().unwrap().clone();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    assert_eq!(it.floor.sandbox.number("select count(*) from :schema.event").await, 1);
}

/// S2-35, S2-63: an event whose effect was had has no second one, and is counted as done before, not as a success.
#[tokio::test]
async fn an_effect_that_was_had_is_not_had_again() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    outbox.drain().await.unwrap();
    let replayed = outbox.replay("till.book").run().await.unwrap();
    assert_eq!((replayed.enqueued, replayed.done), (0, 1));
    // Also when it is had between the look and the run: two operators, or a redrive.
    floor.sandbox.execute("delete from :schema.inbox").await;
    assert_eq!(outbox.replay("till.book").run().await.unwrap().enqueued, 1);
    floor
        .sandbox
        .execute(&format!("insert into :schema.inbox (handler, key) values ('till.book', '{}')", event.as_uuid()))
        .await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.stage.executions("till.book", "a"), 1);
}

/// S2-34: by name, pattern, subject, time and id; a dry run says how many, and writes nothing.
#[tokio::test]
async fn a_replay_is_narrowed_down_and_tried_first() {
    let it = Barrels::new(&["barrels.watch"]).await;
    let first = it.send(1).await;
    it.send(2).await;
    it.lose(1).await;
    let between = Utc::now();
    it.lose(3).await;
    it.outbox.drain().await.unwrap();
    let before = it.jobs().await;
    let all = || it.outbox.replay("barrels.watch");
    let choices = [
        (all(), 4),
        (all().event("barrel.rolled"), 2),
        (all().event("barrel.*"), 4),
        (all().event("order.*"), 0),
        (all().subject("barrel", 1), 2),
        (all().subject("barrel", 1).event("barrel.burst"), 1),
        (all().ids([first]), 1),
        (all().ids([]), 0),
        (all().from(between), 1),
        (all().until(between), 3),
        (all().from(between).until(between), 0),
    ];
    for (choice, count) in &choices {
        assert_eq!(choice.dry_run().await.unwrap(), enqueued(*count), "{choice:?}");
    }
    assert_eq!(it.jobs().await, before, "a dry run writes nothing");
    assert_eq!(choices[5].0.run().await.unwrap(), enqueued(1));
    assert_eq!(it.jobs().await, before + 1);
    let text = all().dry_run().await.unwrap().to_string();
    assert_eq!(text, "3 to run, 1 on their way, 0 failed, 0 done before, 0 erased, 0 too old to tell");
}

/// S2-63: those that are on their way, failed or erased get no second job, and are counted as what they are.
#[tokio::test]
async fn what_is_under_way_is_not_doubled() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once"]).build().await.unwrap();
    ask(&outbox, "failed", [fail("one")]).await;
    let erased = ask(&outbox, "erased", []).await;
    outbox.drain().await.unwrap();
    ask(&outbox, "live", [Do::Hang]).await;
    floor.sandbox.execute(&format!("select :schema.erase_event('{}', 'asked for')", erased.as_uuid())).await;
    let replayed = outbox.replay("desk.once").run().await.unwrap();
    assert_eq!((replayed.enqueued, replayed.live, replayed.failed, replayed.erased), (0, 1, 1, 1));
    let again = outbox.replay("desk.once").dry_run().await.unwrap();
    assert_eq!(again, replayed);
}

/// A subscriber that came later gets what was published before it, as far back as is asked for, and nothing twice.
#[tokio::test]
async fn only_what_is_missing_is_backfilled() {
    let it = Barrels::new(&["barrels.watch"]).await;
    it.send(1).await;
    it.send(2).await;
    it.lose(3).await;
    let later = it.floor.outbox(&["barrels.late"]).state(it.keys.clone()).build().await.unwrap();
    it.send(4).await;
    later.drain().await.unwrap();
    let missing = || later.replay("barrels.late").only_missing();
    let plan = missing().dry_run().await.unwrap();
    assert_eq!((plan.enqueued, plan.done), (2, 1), "{plan}");
    assert_eq!(missing().run().await.unwrap(), plan);
    later.drain().await.unwrap();
    let after = missing().run().await.unwrap();
    assert_eq!((after.enqueued, after.done), (0, 3), "{after}");
    it.floor.sandbox.execute("alter table :schema.event disable trigger user").await;
    // From before the days that are kept: whether it was done, nobody knows.
    it.floor.sandbox.execute("insert into :schema.event (id, occurred_at, event_type, event_version, subject_type, payload)
        select :schema.ulid_floor(now() - interval '3 years'), now() - interval '3 years', 'barrel.rolled', 1, 'barrel', '{\"barrel\": 9}'").await;
    let old = missing().run().await.unwrap();
    assert_eq!((old.enqueued, old.unknown), (0, 1), "{old}");
}

/// A rate holds, and a replay that was dropped in the middle goes on where it is run again.
#[tokio::test]
async fn a_replay_has_a_rate_and_can_be_gone_on_with() {
    let it = Barrels::new(&["barrels.watch"]).await;
    for barrel in 0..8 {
        it.send(barrel).await;
    }
    it.outbox.drain().await.unwrap();
    let (outbox, began) = (it.outbox.clone(), Instant::now());
    let slow = tokio::spawn(async move { outbox.replay("barrels.watch").per_second(2).run().await });
    let live = "select count(*) from :schema.job_live";
    outbox_testing::eventually("four", async || (it.floor.sandbox.number(live).await >= 4).then_some(())).await;
    assert!(began.elapsed().as_millis() >= 1_000, "two at once, two a second later: {:?}", began.elapsed());
    slow.abort();
    let _ = slow.await;
    let live_by_then = it.floor.sandbox.number(live).await.unsigned_abs();
    let rest = it.outbox.replay("barrels.watch").run().await.unwrap();
    assert_eq!((rest.enqueued, rest.live), (8 - live_by_then, live_by_then));
    it.outbox.drain().await.unwrap();
    assert_eq!(it.keys.0.lock().unwrap().len(), 16);
}

/// What cannot be replayed is refused, with what to do.
#[tokio::test]
async fn what_cannot_be_replayed_is_refused() {
    let it = Barrels::new(&["barrels.watch", "barrels.weigh"]).await;
    let refused = async |handler: &str| it.outbox.replay(handler).run().await.unwrap_err().to_string();
    assert!(
        refused("barrels.nobody")
            .await
            .starts_with("the catalogue knows no subscriber `barrels.nobody`: write its stored name")
    );
    let job =
        "`barrels.weigh` has no jobs of events that could be replayed: the catalogue says that it is of kind `job`";
    assert_eq!(refused("barrels.weigh").await, job);
    it.outbox.retire("barrels.watch").await.unwrap();
    let retired = "`barrels.watch` is retired: activate it first, by `outbox.activate(\"barrels.watch\")`";
    assert_eq!(refused("barrels.watch").await, retired);
    let pattern = it.outbox.replay("barrels.watch").event("Barrel rolled").dry_run().await.unwrap_err();
    assert!(matches!(pattern, OperationError::NoEvent(_)), "{pattern}");
}
