//! Looking at quarantine, and deciding.

use outbox::QuarantineId;
use outbox_ingest::{Quarantine, QuarantineClass, Redriven, Selection};
use outbox_testing::fault::Session;

use crate::fake::Sent;
use crate::floor::{Floor, new_id, policy};

fn parcel(body: &str) -> Sent {
    Sent::event(&new_id().to_string(), "parcel.sent.v1", body)
}

/// A row shows what is to be known without its body, and `get` the whole message: the headers that may be kept, and the body byte for byte.
#[tokio::test]
async fn a_message_is_listed_and_looked_at() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    let mut bad =
        policy("p1").with("authorization", "Bearer hunter2").with("subject", [0xff]).header("cookie", "hunter2");
    bad.body = vec![0x00, 0xff, b'x'];
    floor.take(&outbox, &[bad.clone(), parcel("{}")]).await;
    let quarantine = Quarantine::of(&outbox);
    let undecodable = Selection::all().class(QuarantineClass::Undecodable).source("fake").event_type("policy.created");
    let rows = quarantine.list(&undecodable, 10).await.unwrap();
    assert_eq!((rows.len(), rows[0].event_id), (1, bad.id().parse().ok()));
    assert_eq!(quarantine.list(&Selection::all(), 10).await.unwrap().len(), 2);
    assert_eq!(quarantine.list(&Selection::all(), 1).await.unwrap().len(), 1);
    assert_eq!(quarantine.list(&Selection::all().source("other"), 10).await.unwrap(), []);
    let message = quarantine.get(rows[0].id).await.unwrap().unwrap();
    assert_eq!((message.body.as_slice(), &message.about), (bad.body.as_slice(), &rows[0]));
    let mut names: Vec<_> = message.headers.iter().map(|(name, value)| (name.as_str(), value.is_some())).collect();
    names.sort_unstable();
    let expected =
        ["content-type", "id", "route", "specversion", "subject", "type"].map(|name| (name, name != "subject"));
    assert_eq!(names, expected);
    assert!(!format!("{message:?} {:?}", message.headers).contains("hunter2"));
    assert_eq!(quarantine.get(QuarantineId::from(new_id().as_uuid())).await.unwrap(), None);
}

/// When the cause is gone, a message goes the whole way again: an event under its own id, with its jobs, and out of quarantine in one commit.
/// One whose cause is not gone stays, with the reason of now; one that came by itself meanwhile is known.
#[tokio::test]
async fn a_redrive_goes_the_whole_way_again_and_tells_of_each() {
    let floor = Floor::new().await;
    let old = floor.outbox(&[]).await;
    floor.sandbox.execute("alter table :schema.event add constraint c check (subject_id <> 'p1')").await;
    let (mended, still, came) = (policy("p1"), parcel("{"), policy("p1"));
    floor.take(&old, &[mended.clone(), still.clone(), came.clone()]).await;
    floor.sandbox.execute("alter table :schema.event drop constraint c").await;
    let outbox = floor.outbox(&["billing.book", "billing.note"]).await;
    floor.take(&outbox, std::slice::from_ref(&came)).await;
    let quarantine = Quarantine::of(&outbox);
    let rows = quarantine.list(&Selection::all(), 10).await.unwrap();
    let of = |message: &Sent| rows.iter().find(|row| row.event_id == message.id().parse().ok()).unwrap().id;
    let gone = QuarantineId::from(new_id().as_uuid());
    let ids = [of(&mended), of(&still), of(&came), gone];
    let told = quarantine.redrive_many(&ids).await.unwrap();
    let event_id = mended.id().parse().unwrap();
    assert_eq!(told[0], (ids[0], Redriven::Stored { event_id, jobs: 2 }));
    let Redriven::Quarantined(unfit) = &told[1].1 else { panic!("{told:?}") };
    assert_eq!(unfit.class, QuarantineClass::Undecodable);
    assert_eq!(told[2], (ids[2], Redriven::Duplicate { event_id: came.id().parse().unwrap() }));
    assert_eq!(told[3], (gone, Redriven::Gone));
    let left = quarantine.list(&Selection::all(), 10).await.unwrap();
    assert_eq!((left.len(), left[0].id, left[0].class.as_str()), (1, ids[1], "undecodable"));
    outbox.drain().await.unwrap();
    assert_eq!(floor.effects("book", "p1").await, 2);
    let origins = "select count(*) from :schema.event where metadata->>'origin' = 'fake'";
    assert_eq!(floor.sandbox.number(origins).await, 2);
    // Once more: it does not stand there, and has no second effect.
    assert_eq!(quarantine.redrive(ids[0]).await.unwrap(), Redriven::Gone);
}

/// All that match, more than a page of them; and what is discarded is told of each.
#[tokio::test]
async fn all_that_match_are_redriven_or_discarded() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.sandbox.execute("alter table :schema.event add constraint c check (subject_id not like 'p%')").await;
    let mut messages = crate::floor::policies(250);
    messages.extend((0..30).map(|n| parcel(&format!("{{\"n\":{n}}}"))));
    floor.take(&outbox, &messages).await;
    floor.sandbox.execute("alter table :schema.event drop constraint c").await;
    let quarantine = Quarantine::of(&outbox);
    let told = quarantine.redrive_matching(&Selection::all().event_type("policy.created")).await.unwrap();
    assert_eq!(told.len(), 250);
    assert!(told.iter().all(|(_, came)| matches!(came, Redriven::Stored { jobs: 1, .. })), "{told:?}");
    assert_eq!((floor.events().await, floor.jobs().await.len()), (250, 250));
    let rows = quarantine.list(&Selection::all(), 1_000).await.unwrap();
    assert_eq!(rows.len(), 30);
    let unknown = QuarantineId::from(new_id().as_uuid());
    assert_eq!(quarantine.discard_many(&[rows[0].id, unknown]).await.unwrap(), [(rows[0].id, true), (unknown, false)]);
    assert!(!quarantine.discard(rows[0].id).await.unwrap());
    let gone = quarantine.discard_matching(&Selection::all().class(QuarantineClass::UnknownType)).await.unwrap();
    assert_eq!((gone.len(), quarantine.list(&Selection::all(), 10).await.unwrap().len()), (29, 0));
    assert!(gone.iter().all(|(_, gone)| *gone));
}

/// Two operators at once: each message is redriven by one of them, and is one event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_redrives_at_once_are_one() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.sandbox.execute("alter table :schema.event add constraint c check (subject_id not like 'p%')").await;
    floor.take(&outbox, &crate::floor::policies(120)).await;
    floor.sandbox.execute("alter table :schema.event drop constraint c").await;
    let all = Selection::all();
    let (quarantine, other) = (Quarantine::of(&outbox), Quarantine::of(&outbox));
    let (one, two) = tokio::join!(quarantine.redrive_matching(&all), other.redrive_matching(&all));
    let stored = |told: Vec<(QuarantineId, Redriven)>| {
        told.iter().filter(|(_, came)| matches!(came, Redriven::Stored { .. })).count()
    };
    assert_eq!(stored(one.unwrap()) + stored(two.unwrap()), 120);
    assert_eq!((floor.events().await, floor.jobs().await.len()), (120, 120));
    assert_eq!(quarantine.list(&all, 10).await.unwrap(), []);
}

/// One that the database refuses by itself keeps no other from its redrive, and stays.
#[tokio::test]
async fn a_redrive_that_the_database_refuses_stops_nobody() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.sandbox.execute("alter table :schema.event add constraint c check (subject_id not like 'p%')").await;
    floor.take(&outbox, &crate::floor::policies(5)).await;
    floor.sandbox.execute("alter table :schema.event drop constraint c").await;
    floor.sandbox.execute("alter table :schema.event add constraint c check (subject_id <> 'p3')").await;
    let quarantine = Quarantine::of(&outbox);
    let told = quarantine.redrive_matching(&Selection::all()).await.unwrap();
    let stays: Vec<_> = told.iter().filter(|(_, came)| matches!(came, Redriven::Quarantined(_))).collect();
    assert_eq!((told.len(), stays.len(), floor.events().await), (5, 1, 4));
    assert_eq!(quarantine.list(&Selection::all(), 10).await.unwrap()[0].id, stays[0].0);
}

/// A message that is in somebody's hands at this moment is left to them.
#[tokio::test]
async fn a_message_that_somebody_has_in_hand_is_left_to_them() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.take(&outbox, &[parcel("{}")]).await;
    let quarantine = Quarantine::of(&outbox);
    let id = quarantine.list(&Selection::all(), 1).await.unwrap()[0].id;
    let url = outbox_testing::Sandbox::url().await;
    let rows = format!("select from {} for update", floor.sandbox.table("quarantine"));
    let held = Session::lock_rows(&url, &rows).await.unwrap();
    assert_eq!(quarantine.redrive(id).await.unwrap(), Redriven::Gone);
    held.rollback().await.unwrap();
    assert!(matches!(quarantine.redrive(id).await.unwrap(), Redriven::Quarantined(_)));
}

/// Two messages of one event are two rows, and one event, which one of them becomes; another type's of that id stays.
#[tokio::test]
async fn messages_of_one_id_are_one_event() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["billing.book"]).await;
    floor.sandbox.execute("alter table :schema.event add constraint c check (event_type = 'no')").await;
    let first = policy("p1");
    let second = Sent { body: br#"{"number": "p1"}"#.to_vec(), ..first.clone() };
    let other = Sent::event(&first.id(), "policy.viewed.v1", r#"{"number":"p1"}"#);
    floor.take(&outbox, &[first.clone(), second, other]).await;
    floor.sandbox.execute("alter table :schema.event drop constraint c").await;
    let quarantine = Quarantine::of(&outbox);
    let of = async |name: &str| quarantine.redrive_matching(&Selection::all().event_type(name)).await.unwrap();
    let became: Vec<_> = of("policy.created").await.into_iter().map(|(_, one)| one).collect();
    let event_id = first.id().parse().unwrap();
    assert_eq!(became, [Redriven::Stored { event_id, jobs: 1 }, Redriven::Duplicate { event_id }]);
    let [(_, Redriven::Quarantined(unfit))] = &of("policy.viewed").await[..] else { panic!("it is no event here") };
    assert_eq!(unfit.class, QuarantineClass::NotAnId);
    assert_eq!((floor.events().await, floor.jobs().await.len()), (1, 1));
}
