//! Messages that wait for a channel, and which of them go together.

use bytes::Bytes;
use lapin::BasicProperties;
use lapin::types::ShortString;
use outbox::EventId;
use outbox_relay::Outgoing;
use tokio::sync::{mpsc, oneshot};

use crate::properties::properties;
use crate::tally::Answer;

/// Most messages of a group.
pub(crate) const GROUP: usize = 32;
/// Most bytes of payload in a group of several. A larger message goes by itself: if it is too large for the broker, no other one
/// suffers by it.
const BYTES: usize = 64 << 10;
/// Messages that wait, beyond which who publishes waits to say so. A relay lets 256 go at once.
const WAITING: usize = 1_024;

/// One message, and who waits for its answer.
pub(crate) struct Waiting {
    pub(crate) id: EventId,
    pub(crate) route: ShortString,
    pub(crate) properties: BasicProperties,
    pub(crate) payload: Bytes,
    /// It was in a group that broke: this time no other is to be.
    alone: bool,
    pub(crate) answer: oneshot::Sender<Answer>,
}

/// Who takes them.
pub(crate) struct Queue {
    incoming: mpsc::Receiver<Waiting>,
    /// It did not go with those before it.
    next: Option<Waiting>,
}

/// A queue, and the way into it.
pub(crate) fn queue() -> (mpsc::Sender<Waiting>, Queue) {
    let (sender, incoming) = mpsc::channel(WAITING);
    (sender, Queue { incoming, next: None })
}

impl Waiting {
    pub(crate) fn new(message: &Outgoing, alone: bool, answer: oneshot::Sender<Answer>) -> Self {
        Self {
            id: message.id(),
            route: message.route().into(),
            properties: properties(message),
            payload: message.payload().clone(),
            alone,
            answer,
        }
    }

    /// Who published it has gone, because its time was over: it is not to be sent any more.
    pub(crate) fn is_forsaken(&self) -> bool {
        self.answer.is_closed()
    }
}

impl Queue {
    /// The next messages that go together, at least one: all that wait, as far as they fit. Of two under one id, as a replay
    /// publishes them, the second goes with another group, because by its id a message that is returned is known.
    ///
    /// # Cancel safety
    /// Takes nothing, or gives it.
    pub(crate) async fn group(&mut self) -> Vec<Waiting> {
        loop {
            if self.next.is_none() {
                match self.incoming.recv().await {
                    Some(first) => self.next = Some(first),
                    // The session is over, and its groups will be dropped.
                    None => std::future::pending().await,
                }
            }
            let group = self.gathered();
            if !group.is_empty() {
                return group;
            }
        }
    }

    fn gathered(&mut self) -> Vec<Waiting> {
        let (mut group, mut bytes) = (Vec::<Waiting>::new(), 0);
        while group.len() < GROUP {
            let Some(one) = self.next.take().or_else(|| self.incoming.try_recv().ok()) else { break };
            if one.is_forsaken() {
                continue;
            }
            bytes += one.payload.len();
            let fits = !one.alone && bytes <= BYTES && group.iter().all(|other| other.id != one.id && !other.alone);
            if !fits && !group.is_empty() {
                self.next = Some(one);
                break;
            }
            group.push(one);
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Answered = oneshot::Receiver<Answer>;

    fn waiting(id: u128, bytes: usize, alone: bool) -> (Waiting, Answered) {
        let (answer, answered) = oneshot::channel();
        let id = EventId::from(uuid::Uuid::from_u128(id));
        let (route, properties, payload) = ("shop".into(), BasicProperties::default(), vec![b'x'; bytes].into());
        (Waiting { id, route, properties, payload, alone, answer }, answered)
    }

    /// What each group holds, of messages that wait all at once; whoever is not to wait is `None`.
    fn groups(messages: impl IntoIterator<Item = (u128, usize, bool)>) -> Vec<Vec<u128>> {
        let (sender, mut queue) = queue();
        let mut answered = Vec::new();
        for (id, bytes, alone) in messages {
            let (waiting, receiver) = waiting(id, bytes, alone);
            answered.push(receiver);
            assert!(sender.try_send(waiting).is_ok());
        }
        std::iter::from_fn(|| Some(queue.gathered()).filter(|group| !group.is_empty()))
            .map(|group| group.iter().map(|one| one.id.as_uuid().as_u128()).collect())
            .collect()
    }

    #[test]
    fn all_that_wait_go_together_up_to_a_number() {
        let sizes: Vec<_> = groups((0..70).map(|id| (id, 10, false))).iter().map(Vec::len).collect();
        assert_eq!(sizes, [GROUP, GROUP, 70 - 2 * GROUP]);
    }

    /// The one that the broker may refuse for its size has nobody beside it.
    #[test]
    fn a_large_message_goes_by_itself() {
        let large = (2, BYTES + 1, false);
        assert_eq!(groups([(1, 10, false), large, (3, 10, false), (4, 10, false)]), [vec![1], vec![2], vec![3, 4]]);
        let half = BYTES / 2 + 1;
        assert_eq!(groups([(1, half, false), (2, half, false), (3, 1, false)]), [vec![1], vec![2, 3]]);
    }

    #[test]
    fn one_whose_group_broke_goes_by_itself() {
        let messages = [(1, 1, true), (2, 1, true), (3, 1, false), (4, 1, true), (5, 1, false)];
        assert_eq!(groups(messages), [vec![1], vec![2], vec![3], vec![4], vec![5]]);
    }

    #[test]
    fn two_under_one_id_are_in_two_groups() {
        let messages = [(1, 1, false), (2, 1, false), (1, 1, false), (3, 1, false)];
        assert_eq!(groups(messages), [vec![1, 2], vec![1, 3]]);
    }

    /// Its time was over while it waited: whoever sends it again would not want it twice.
    #[tokio::test]
    async fn what_nobody_waits_for_any_more_is_not_sent() {
        let (sender, mut queue) = queue();
        let (forsaken, gone) = waiting(1, 1, false);
        let (waiting, _answered) = waiting(2, 1, false);
        for one in [forsaken, waiting] {
            assert!(sender.try_send(one).is_ok());
        }
        drop(gone);
        let group = queue.group().await;
        assert_eq!(group.iter().map(|one| one.id.as_uuid().as_u128()).collect::<Vec<_>>(), [2]);
    }
}
