//! Both sides side by side, a page at a time, in the order of their keys.

use std::cmp::Ordering;
use std::collections::VecDeque;

use outbox_core::BoxError;

use super::{Drift, Entries, Reconcile, order};

pub(super) struct Pages<'a, R: Reconcile> {
    of: &'a R,
    most: usize,
    authority: Side<R>,
    projection: Side<R>,
}

/// What was read of one side and not compared yet.
struct Side<R: Reconcile> {
    entries: VecDeque<(R::Key, R::Entry)>,
    /// Behind which key the next page begins.
    last: Option<R::Key>,
    ended: bool,
}

/// A stretch of keys that was compared.
pub(super) struct Page<R: Reconcile> {
    pub(super) compared: u64,
    /// What differed.
    pub(super) suspects: Vec<Drift<R::Key, R::Entry>>,
}

impl<R: Reconcile> Side<R> {
    fn new() -> Self {
        Self { entries: VecDeque::new(), last: None, ended: false }
    }

    fn take(&mut self, page: Entries<R::Key, R::Entry>, most: usize, whose: &str) -> Result<(), BoxError> {
        self.ended = page.len() < most;
        for (key, entry) in page {
            if self.last.as_ref().is_some_and(|last| *last >= key) {
                // Compared all the same, everything would look missing on one side and orphaned on the other.
                return Err(format!("{}: the {whose}'s entries do not come in the order of their keys: {key} came behind another that is not smaller", R::NAME).into());
            }
            self.last = Some(key.clone());
            self.entries.push_back((key, entry));
        }
        Ok(())
    }

    fn head(&self) -> Option<&R::Key> {
        self.entries.front().map(|(key, _)| key)
    }
}

impl<'a, R: Reconcile> Pages<'a, R> {
    pub(super) fn new(of: &'a R, most: usize) -> Self {
        Self { of, most, authority: Side::new(), projection: Side::new() }
    }

    /// The next stretch, or `None` at the end of both.
    pub(super) async fn next(&mut self) -> Result<Option<Page<R>>, BoxError> {
        if self.authority.entries.is_empty() && !self.authority.ended {
            let page = self.of.authority(self.authority.last.as_ref(), self.most).await?;
            self.authority.take(page, self.most, "authority")?;
        }
        if self.projection.entries.is_empty() && !self.projection.ended {
            let page = self.of.projection(self.projection.last.as_ref(), self.most).await?;
            self.projection.take(page, self.most, "projection")?;
        }
        let mut page = Page { compared: 0, suspects: Vec::new() };
        // Only as far as both sides are known: behind the end of a page anything can come.
        while self.both_known()
            && let Some(which) = order(self.authority.head(), self.projection.head())
        {
            page.compared += 1;
            let authority = (which != Ordering::Greater).then(|| self.authority.entries.pop_front()).flatten();
            let projection = (which != Ordering::Less).then(|| self.projection.entries.pop_front()).flatten();
            let Some(key) = authority.as_ref().or(projection.as_ref()).map(|(key, _)| key.clone()) else { break };
            let (authority, projection) = (authority.map(|(_, entry)| entry), projection.map(|(_, entry)| entry));
            if authority != projection {
                page.suspects.push(Drift { key, authority, projection });
            }
        }
        let at_the_end = page.compared == 0 && self.authority.ended && self.projection.ended;
        Ok((!at_the_end).then_some(page))
    }

    fn both_known(&self) -> bool {
        [&self.authority, &self.projection].iter().all(|side| !side.entries.is_empty() || side.ended)
    }
}
