//! reconcile: a projection is compared with its authority, and mended where it drifted, beside events that are on their way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use outbox::{BoxError, Cancellation, Drift, Reconcile, Reconciled, Reconciliation};
use proptest::prelude::*;

use crate::floor::{Floor, ask};

type Map = BTreeMap<i64, i64>;

/// An authority and a projection in memory, and what happens while they are compared: at the n-th look at one entry.
#[derive(Default)]
pub struct Sides {
    authority: Mutex<Map>,
    projection: Mutex<Map>,
    looks: Mutex<u32>,
    then: Option<fn(u32, &Sides)>,
    unmendable: BTreeSet<i64>,
}

impl Sides {
    pub fn of(authority: impl Into<Map>, projection: impl Into<Map>) -> Self {
        Self { authority: Mutex::new(authority.into()), projection: Mutex::new(projection.into()), ..Self::default() }
    }

    fn now(&self) -> (Map, Map) {
        (self.authority.lock().unwrap().clone(), self.projection.lock().unwrap().clone())
    }

    pub fn run(&self) -> Reconciliation<'_, Self> {
        Reconciliation::of(self).settle(Duration::ZERO)
    }
}

fn page(map: &Mutex<Map>, after: Option<&i64>, most: usize) -> Vec<(i64, i64)> {
    let map = map.lock().unwrap();
    map.iter().filter(|(key, _)| after.is_none_or(|after| *key > after)).take(most).map(|(k, v)| (*k, *v)).collect()
}

impl Reconcile for Sides {
    type Key = i64;
    type Entry = i64;
    const NAME: &'static str = "tests.sides";

    async fn authority(&self, after: Option<&i64>, most: usize) -> Result<Vec<(i64, i64)>, BoxError> {
        Ok(page(&self.authority, after, most))
    }

    async fn projection(&self, after: Option<&i64>, most: usize) -> Result<Vec<(i64, i64)>, BoxError> {
        Ok(page(&self.projection, after, most))
    }

    async fn authority_of(&self, key: &i64) -> Result<Option<i64>, BoxError> {
        Ok(self.authority.lock().unwrap().get(key).copied())
    }

    async fn projection_of(&self, key: &i64) -> Result<Option<i64>, BoxError> {
        let look = {
            let mut looks = self.looks.lock().unwrap();
            *looks += 1;
            *looks
        };
        if let Some(then) = self.then {
            then(look, self);
        }
        Ok(self.projection.lock().unwrap().get(key).copied())
    }

    async fn repair(&self, drift: &Drift<i64, i64>) -> Result<(), BoxError> {
        if self.unmendable.contains(&drift.key) {
            return Err("the index is read-only".into());
        }
        let mut projection = self.projection.lock().unwrap();
        match drift.authority {
            Some(entry) => projection.insert(drift.key, entry),
            None => projection.remove(&drift.key),
        };
        Ok(())
    }
}

/// Without its counts of what was mended.
fn found(reconciled: &Reconciled) -> (u64, u64, u64, u64) {
    (reconciled.missing, reconciled.divergent, reconciled.orphaned, reconciled.in_flight)
}

/// S2-36: as many entries on both sides, and yet one is missing, one differs and one is an orphan. Reported first, and mended when asked.
#[tokio::test]
async fn what_has_drifted_is_found_and_mended() {
    let sides = Sides::of([(1, 10), (2, 20), (3, 30)], [(2, 20), (3, 31), (4, 40)]);
    let report = sides.run().run().await.unwrap();
    assert_eq!((found(&report), report.compared, report.repaired, report.complete), ((1, 1, 1, 0), 4, 0, true));
    assert_eq!(sides.now().1, Map::from([(2, 20), (3, 31), (4, 40)]), "a report mends nothing");
    let mended = sides.run().repair().run().await.unwrap();
    assert_eq!((mended.drift(), mended.repaired), (3, 3));
    let (authority, projection) = sides.now();
    assert_eq!(authority, projection);
    assert_eq!(sides.run().run().await.unwrap().drift(), 0);
    let text = "4 compared: 1 missing, 1 divergent, 1 orphaned, 0 in flight; 3 repaired, 0 not";
    assert_eq!(mended.to_string(), text);
}

/// S2-36: what is on its way is no drift: the projection catches up before it is asked again, and nothing is "repaired" to what was.
#[tokio::test]
async fn what_is_on_its_way_is_left_alone() {
    let mut sides = Sides::of([(1, 11)], [(1, 10)]);
    sides.then = Some(|_, sides| {
        sides.projection.lock().unwrap().insert(1, 11);
    });
    let reconciled = sides.run().repair().run().await.unwrap();
    assert_eq!((found(&reconciled), reconciled.repaired), ((0, 0, 0, 1), 0));
}

/// S2-36: an entry whose authority moves between the looks is asked for again, and judged by its newest state only.
#[tokio::test]
async fn an_authority_that_moves_is_waited_for() {
    let mut sides = Sides::of([(1, 11)], [(1, 10)]);
    // It moves twice and then stands still; no event of it arrives.
    sides.then = Some(|look, sides| {
        if look <= 2 {
            sides.authority.lock().unwrap().insert(1, 100 + i64::from(look));
        }
    });
    let reconciled = sides.run().repair().run().await.unwrap();
    assert_eq!((found(&reconciled), reconciled.repaired), ((0, 1, 0, 0), 1));
    assert_eq!(sides.now().1, Map::from([(1, 102)]));
    // One that never stands still is left to the next run.
    let mut sides = Sides::of([(1, 11)], [(1, 10)]);
    sides.then = Some(|look, sides| {
        sides.authority.lock().unwrap().insert(1, 100 + i64::from(look));
    });
    let reconciled = sides.run().repair().run().await.unwrap();
    assert_eq!((found(&reconciled), reconciled.repaired), ((0, 0, 0, 1), 0));
}

/// One that cannot be mended keeps no other from it, and is counted.
#[tokio::test]
async fn one_that_cannot_be_mended_stops_nobody() {
    let mut sides = Sides::of([(1, 10), (2, 20)], []);
    sides.unmendable = [1].into();
    let reconciled = sides.run().repair().run().await.unwrap();
    assert_eq!((reconciled.missing, reconciled.repaired, reconciled.failed), (2, 1, 1));
    assert_eq!(sides.now().1, Map::from([(2, 20)]));
}

/// It ends between two entries when it is told to, and says that it did.
#[tokio::test]
async fn it_can_be_ended_early() {
    let sides = Sides::of([(1, 10), (2, 20)], []);
    let stop = Cancellation::new();
    stop.cancel();
    let reconciled = sides.run().until(stop).run().await.unwrap();
    assert!(!reconciled.complete);
    assert!(reconciled.to_string().ends_with("; ended early"), "{reconciled}");
}

/// A side out of order, as by another collation, is refused: everything would look missing on one side and orphaned on the other.
#[tokio::test]
async fn sides_in_another_order_are_refused() {
    struct Shuffled(Sides);

    impl Reconcile for Shuffled {
        type Key = i64;
        type Entry = i64;
        const NAME: &'static str = "tests.shuffled";

        async fn authority(&self, after: Option<&i64>, most: usize) -> Result<Vec<(i64, i64)>, BoxError> {
            let mut page = self.0.authority(after, most).await?;
            page.reverse();
            Ok(page)
        }
        async fn projection(&self, after: Option<&i64>, most: usize) -> Result<Vec<(i64, i64)>, BoxError> {
            self.0.projection(after, most).await
        }
        async fn authority_of(&self, key: &i64) -> Result<Option<i64>, BoxError> {
            self.0.authority_of(key).await
        }
        async fn projection_of(&self, key: &i64) -> Result<Option<i64>, BoxError> {
            self.0.projection_of(key).await
        }
        async fn repair(&self, drift: &Drift<i64, i64>) -> Result<(), BoxError> {
            self.0.repair(drift).await
        }
    }

    let shuffled = Shuffled(Sides::of([(1, 10), (2, 20)], [(1, 10), (2, 20)]));
    let error = Reconciliation::of(&shuffled).run().await.unwrap_err();
    assert!(error.to_string().contains("do not come in the order of their keys: 1 came behind"), "{error}");
}

/// S2-37: what was never published no replay can bring: it repeats the events that there are. The reconciliation finds it. Both are there.
#[tokio::test]
async fn a_replay_is_no_reconciliation() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    ask(&outbox, "published", []).await;
    outbox.drain().await.unwrap();
    // Written past the events, as by a script.
    let authority = BTreeMap::from([("past the events".to_owned(), 1), ("published".to_owned(), 1)]);
    outbox.replay("till.book").run().await.unwrap();
    outbox.drain().await.unwrap();
    let effects = Effects { floor, authority };
    assert_eq!((effects.floor.effects("published").await, effects.floor.effects("past the events").await), (1, 0));
    let reconciled = Reconciliation::of(&effects).settle(Duration::ZERO).repair().run().await.unwrap();
    assert_eq!((reconciled.compared, reconciled.missing, reconciled.repaired), (2, 1, 1));
    assert_eq!((effects.floor.effects("published").await, effects.floor.effects("past the events").await), (1, 1));
}

/// Which labels are to have their effect, and which have it in the database.
struct Effects {
    floor: Floor,
    authority: BTreeMap<String, i64>,
}

impl Reconcile for Effects {
    type Key = String;
    type Entry = i64;
    const NAME: &'static str = "tests.effects";

    async fn authority(&self, after: Option<&String>, most: usize) -> Result<Vec<(String, i64)>, BoxError> {
        let behind = self.authority.iter().filter(|(key, _)| after.is_none_or(|after| *key > after));
        Ok(behind.take(most).map(|(key, times)| (key.clone(), *times)).collect())
    }

    async fn projection(&self, after: Option<&String>, most: usize) -> Result<Vec<(String, i64)>, BoxError> {
        // `collate "C"` is the order of Rust's strings.
        let text = format!(
            r#"select label, count(*) from {} where label collate "C" > $1 group by label order by label collate "C" limit $2"#,
            self.floor.stage.effects
        );
        let query = sqlx::query_as(sqlx::AssertSqlSafe(text)).bind(after.map_or("", String::as_str));
        Ok(query.bind(i64::try_from(most)?).fetch_all(self.floor.sandbox.pool()).await?)
    }

    async fn authority_of(&self, key: &String) -> Result<Option<i64>, BoxError> {
        Ok(self.authority.get(key).copied())
    }

    async fn projection_of(&self, key: &String) -> Result<Option<i64>, BoxError> {
        Ok(Some(self.floor.effects(key).await).filter(|times| *times > 0))
    }

    async fn repair(&self, drift: &Drift<String, i64>) -> Result<(), BoxError> {
        let text = format!("insert into {} (handler, label) values ('by hand', $1)", self.floor.stage.effects);
        sqlx::query(sqlx::AssertSqlSafe(text)).bind(&drift.key).execute(self.floor.sandbox.pool()).await?;
        Ok(())
    }
}

proptest! {
    /// S2-36: whatever is on both sides and however large the pages are: exactly what differs is found, each key is compared once, and behind
    /// the repair both are the same.
    #[test]
    fn exactly_what_differs_is_found(
        authority in prop::collection::btree_map(0..40_i64, 0..3_i64, 0..30),
        projection in prop::collection::btree_map(0..40_i64, 0..3_i64, 0..30),
        most in 1..12_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let keys: BTreeSet<_> = authority.keys().chain(projection.keys()).collect();
        let count = |differs: fn(Option<&i64>, Option<&i64>) -> bool| {
            keys.iter().filter(|key| differs(authority.get(key), projection.get(key))).count() as u64
        };
        let expected = (
            count(|a, p| a.is_some() && p.is_none()),
            count(|a, p| a.is_some() && p.is_some() && a != p),
            count(|a, _| a.is_none()),
            0,
        );
        let sides = Sides::of(authority.clone(), projection.clone());
        let reconciled = runtime.block_on(sides.run().page(most).repair().run()).unwrap();
        prop_assert_eq!(found(&reconciled), expected);
        prop_assert_eq!(reconciled.compared, keys.len() as u64);
        let (authority, projection) = sides.now();
        prop_assert_eq!(authority, projection);
    }
}
