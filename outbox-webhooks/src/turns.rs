//! Whose turn it is: a slow endpoint must not keep the others waiting.
//!
//! A call holds its slot until the receiver answers or the timeout ends it, and a dead receiver has as many deliveries waiting as a good
//! one has had. So an endpoint whose last call was slow, as far as this process knows, has two calls at once here, and its other
//! deliveries step back.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::id::EndpointId;

/// Most calls at once to an endpoint whose last one was slow.
const MOST_WHILE_SLOW: u32 = 2;

/// The endpoints that this process calls, and those whose last call was slow.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<EndpointId, Calls>>);

#[derive(Debug, Default)]
struct Calls {
    under_way: u32,
    is_slow: bool,
}

/// The right to one call. Dropped without a word, as at a shutdown, it says nothing about the receiver.
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    endpoint: EndpointId,
}

impl Turns {
    /// A turn, unless the endpoint is slow and has enough of them.
    pub(crate) fn take(&self, endpoint: EndpointId) -> Option<Turn<'_>> {
        let mut all = self.all();
        let calls = all.entry(endpoint).or_default();
        if calls.is_slow && calls.under_way >= MOST_WHILE_SLOW {
            return None;
        }
        calls.under_way += 1;
        Some(Turn { turns: self, endpoint })
    }

    fn all(&self) -> MutexGuard<'_, HashMap<EndpointId, Calls>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Whether the call was slow, whatever came of it.
    pub(crate) fn ended(self, is_slow: bool) {
        if let Some(calls) = self.turns.all().get_mut(&self.endpoint) {
            calls.is_slow = is_slow;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut all = self.turns.all();
        if let Some(calls) = all.get_mut(&self.endpoint) {
            calls.under_way -= 1;
            // A slow one is remembered; there are no more of them than endpoints.
            if calls.under_way == 0 && !calls.is_slow {
                all.remove(&self.endpoint);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_slow_endpoint_has_two_calls_at_once_and_another_as_many_as_it_likes() {
        let (turns, slow, quick) = (Turns::default(), Uuid::from_u128(1).into(), Uuid::from_u128(2).into());
        turns.take(slow).unwrap().ended(true);
        let (one, _other) = (turns.take(slow).unwrap(), turns.take(slow).unwrap());
        assert!(turns.take(slow).is_none());
        let all: Vec<_> = (0..20).map(|_| turns.take(quick).unwrap()).collect();
        // Given up without an answer, it makes room and decides nothing.
        drop(one);
        let again = turns.take(slow).unwrap();
        assert!(turns.take(slow).is_none());
        again.ended(false);
        assert!(turns.take(slow).is_some());
        drop(all);
    }

    #[test]
    fn who_is_quick_is_not_remembered() {
        let (turns, endpoint) = (Turns::default(), Uuid::from_u128(1).into());
        turns.take(endpoint).unwrap().ended(true);
        assert_eq!(turns.all().len(), 1);
        turns.take(endpoint).unwrap().ended(false);
        assert!(turns.all().is_empty());
    }
}
