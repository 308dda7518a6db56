//! Reconciliation: a projection is compared with what has authority over it, entry by entry, and mended where it drifted.
//!
//! It is another thing than a replay. A replay repeats events, and mends nothing that was never published, was published wrong, or was
//! written past the events. A reconciliation looks at the two states themselves.
//!
//! Both change while they are compared. So a difference is a suspicion at first: some time later both sides are asked again for that one
//! entry, and only one whose authority stood still meanwhile, and whose projection is different all the same, has drifted.

mod pages;
mod report;

use std::cmp::Ordering;
use std::fmt::Display;
use std::time::Duration;

use outbox_core::BoxError;

use self::pages::Pages;
pub use self::report::Reconciled;
use crate::cancellation::Cancellation;
use crate::error::told;

/// Entries of a page, unless said otherwise.
const PAGE: usize = 500;
/// How long a difference has to stand, unless said otherwise: longer than an event takes to be handled.
const SETTLE: Duration = Duration::from_secs(10);
/// How often an entry whose authority changes all the time is asked for again before it is left to the next run.
const LOOKS: u32 = 5;

/// A page of entries, in the order of their keys.
pub type Entries<K, E> = Vec<(K, E)>;

/// What is compared: an authority and a projection of it, both in the order of their keys.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Mutex;
///
/// use outbox_core::BoxError;
/// use outbox_postgres::{Drift, Reconcile, Reconciliation};
///
/// /// Prices, and where the search index has them.
/// struct Prices { authority: Mutex<BTreeMap<i64, u32>>, index: Mutex<BTreeMap<i64, u32>> }
///
/// # fn page(map: &BTreeMap<i64, u32>, after: Option<&i64>, most: usize) -> Vec<(i64, u32)> {
/// #     map.iter().filter(|(key, _)| after.is_none_or(|after| *key > after)).take(most).map(|(k, v)| (*k, *v)).collect()
/// # }
/// impl Reconcile for Prices {
///     type Key = i64;
///     type Entry = u32;
///     const NAME: &'static str = "search.prices";
///
///     async fn authority(&self, after: Option<&i64>, most: usize) -> Result<Vec<(i64, u32)>, BoxError> {
///         Ok(page(&self.authority.lock().unwrap(), after, most))
///     }
///     async fn projection(&self, after: Option<&i64>, most: usize) -> Result<Vec<(i64, u32)>, BoxError> {
///         Ok(page(&self.index.lock().unwrap(), after, most))
///     }
///     async fn authority_of(&self, key: &i64) -> Result<Option<u32>, BoxError> {
///         Ok(self.authority.lock().unwrap().get(key).copied())
///     }
///     async fn projection_of(&self, key: &i64) -> Result<Option<u32>, BoxError> {
///         Ok(self.index.lock().unwrap().get(key).copied())
///     }
///     async fn repair(&self, drift: &Drift<i64, u32>) -> Result<(), BoxError> {
///         let mut index = self.index.lock().unwrap();
///         match drift.authority {
///             Some(price) => index.insert(drift.key, price),
///             None => index.remove(&drift.key),
///         };
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// # let prices = Prices { authority: Mutex::new([(1, 10), (2, 20)].into()), index: Mutex::new([(2, 25), (3, 30)].into()) };
/// let found = Reconciliation::of(&prices).settle(std::time::Duration::ZERO).repair().run().await?;
/// assert_eq!((found.missing, found.divergent, found.orphaned, found.repaired), (1, 1, 1, 3));
/// # Ok(())
/// # }
/// ```
pub trait Reconcile: Sync {
    /// What an entry is found by.
    type Key: Ord + Clone + Display + Send + Sync;
    /// What is compared of it: the fields themselves, or a digest of them.
    type Entry: PartialEq + Clone + Send + Sync;
    /// A name for logs and meters, as `search.prices`.
    const NAME: &'static str;

    /// The authority's entries behind this key, or from the first one on, in the order of keys, at most so many. Fewer mean that there are no more.
    fn authority(
        &self,
        after: Option<&Self::Key>,
        most: usize,
    ) -> impl Future<Output = Result<Entries<Self::Key, Self::Entry>, BoxError>> + Send;

    /// The projection's entries, in the same way and the same order.
    fn projection(
        &self,
        after: Option<&Self::Key>,
        most: usize,
    ) -> impl Future<Output = Result<Entries<Self::Key, Self::Entry>, BoxError>> + Send;

    /// The authority's entry of this key as it is now, if there is one: asked for each suspicion.
    fn authority_of(&self, key: &Self::Key) -> impl Future<Output = Result<Option<Self::Entry>, BoxError>> + Send;

    /// The projection's entry of this key as it is now, if there is one.
    fn projection_of(&self, key: &Self::Key) -> impl Future<Output = Result<Option<Self::Entry>, BoxError>> + Send;

    /// Mends one entry. It has to be safe beside events of the same entry: read the authority once more in the transaction that writes, or
    /// write only where the projection still is as `drift` says.
    fn repair(&self, drift: &Drift<Self::Key, Self::Entry>) -> impl Future<Output = Result<(), BoxError>> + Send;
}

/// One entry of which the two differ, as they were at the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift<K, E> {
    /// Which.
    pub key: K,
    /// What the authority has; `None`: the projection's is an orphan.
    pub authority: Option<E>,
    /// What the projection has; `None`: it is missing there.
    pub projection: Option<E>,
}

/// One run over both.
#[derive(Debug)]
#[must_use = "a reconciliation does nothing before it is run"]
pub struct Reconciliation<'a, R> {
    of: &'a R,
    page: usize,
    settle: Duration,
    repairs: bool,
    stop: Cancellation,
}

impl<'a, R: Reconcile> Reconciliation<'a, R> {
    /// One that reports, and mends nothing.
    pub fn of(of: &'a R) -> Self {
        Self { of, page: PAGE, settle: SETTLE, repairs: false, stop: Cancellation::new() }
    }

    /// So many entries of each side in memory at a time; 500 unless said otherwise.
    pub fn page(self, entries: usize) -> Self {
        Self { page: entries.max(1), ..self }
    }

    /// How long a difference has to stand: longer than an event usually takes from its commit to the projection; ten seconds unless said
    /// otherwise.
    pub fn settle(self, time: Duration) -> Self {
        Self { settle: time, ..self }
    }

    /// Mends what has drifted, too.
    pub fn repair(self) -> Self {
        Self { repairs: true, ..self }
    }

    /// Ends early, between two entries, when this fires, as a handler's own does; what was found by then is the answer.
    pub fn until(self, stop: Cancellation) -> Self {
        Self { stop, ..self }
    }

    /// Goes over both sides once.
    ///
    /// # Errors
    /// When a side cannot be read. An entry that cannot be mended is counted, logged, and left to the next run.
    ///
    /// # Cancel safety
    /// Dropped in the middle, some entries are mended.
    pub async fn run(self) -> Result<Reconciled, BoxError> {
        let mut found = Reconciled::default();
        let mut pages = Pages::new(self.of, self.page);
        while !self.stop.is_cancelled() {
            let Some(page) = pages.next().await? else {
                found.complete = true;
                break;
            };
            found.compared += page.compared;
            if !page.suspects.is_empty() {
                self.judge(page.suspects, &mut found).await?;
            }
        }
        found.tell(R::NAME);
        Ok(found)
    }

    /// Asks again for those that differed, as often as their authority moves.
    async fn judge(&self, mut suspects: Vec<Drift<R::Key, R::Entry>>, found: &mut Reconciled) -> Result<(), BoxError> {
        for _ in 0..LOOKS {
            tokio::time::sleep(self.settle).await;
            let mut moving = Vec::new();
            for suspect in suspects {
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                // The projection first: what it lacks now was lacking in the authority's state of before.
                let projection = self.of.projection_of(&suspect.key).await?;
                let authority = self.of.authority_of(&suspect.key).await?;
                if projection == authority {
                    found.in_flight += 1;
                } else if authority != suspect.authority {
                    moving.push(Drift { key: suspect.key, authority, projection });
                } else {
                    self.drifted(&Drift { key: suspect.key, authority, projection }, found).await;
                }
            }
            suspects = moving;
            if suspects.is_empty() {
                return Ok(());
            }
        }
        found.in_flight += suspects.len() as u64;
        Ok(())
    }

    async fn drifted(&self, drift: &Drift<R::Key, R::Entry>, found: &mut Reconciled) {
        let kind = match (&drift.authority, &drift.projection) {
            (Some(_), None) => {
                found.missing += 1;
                "missing"
            }
            (None, _) => {
                found.orphaned += 1;
                "orphaned"
            }
            (Some(_), Some(_)) => {
                found.divergent += 1;
                "divergent"
            }
        };
        tracing::warn!(reconciliation = R::NAME, key = %drift.key, kind, repairs = self.repairs, "an entry has drifted");
        if !self.repairs {
            return;
        }
        match self.of.repair(drift).await {
            Ok(()) => found.repaired += 1,
            Err(error) => {
                found.failed += 1;
                tracing::error!(reconciliation = R::NAME, key = %drift.key, error = told(error.as_ref()), "an entry that has drifted could not be mended");
            }
        }
    }
}

/// Which of two heads comes first, where either can be at its end.
fn order<K: Ord>(one: Option<&K>, other: Option<&K>) -> Option<Ordering> {
    match (one, other) {
        (None, None) => None,
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (Some(one), Some(other)) => Some(one.cmp(other)),
    }
}
