//! Which message of a group a returned one is, and from when on that is known: rules without a broker.
//!
//! RabbitMQ returns a message that no queue takes, and confirms it behind that, both on the message's channel. lapin keeps what is
//! returned in a line, and each confirm that it resolves takes the first of the line along, whichever message that is of; a confirm of
//! many at once (`multiple`) is resolved in no order. (Read in lapin 4.12.3: `Acknowledgements::complete_pending`, which all of `ack`,
//! `ack_all_before` and `ack_all_pending` end in, and `ReturnedMessages::get_waiting_message`.) So:
//!
//! - Whose a returned message is, its `message-id` says, and never the confirm that it came with.
//! - The line is never longer than there are messages that were returned and are not confirmed yet: it grows by a return only, and the
//!   confirm of a message that was returned shortens it, if it is not empty. So with the last confirm of a group nothing is left of the
//!   group's returns, and as groups do not overlap on a channel, a return is always one of the group under way.
//! - A confirm that comes without a returned message found the line empty: every return before it, its own message's too, had been taken by a
//!   confirm that was resolved before. When those have been looked at, it is known that its message was stored. It need not
//!   wait for the rest of the group. One that came with another's return waits for the last confirm.

use lapin::Confirmation;
use lapin::message::BasicReturnMessage;
use outbox::EventId;
use outbox_relay::NotConfirmed;

/// What is known of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Stored,
    /// No queue took it: the broker's words.
    Returned(String),
    Not(NotConfirmed),
    /// Its group was broken off by an error that may be another message's: it is to be sent by itself.
    Again,
}

/// What was said of the messages of a group.
#[derive(Debug)]
pub(crate) struct Tally {
    messages: Vec<Heard>,
    /// A returned message was none of the group: nobody knows whose fault that is, nor who was returned.
    stray: bool,
    /// Why no further confirm comes.
    broken: Option<NotConfirmed>,
}

#[derive(Debug)]
struct Heard {
    id: EventId,
    confirm: Option<Confirm>,
    returned: Option<String>,
    is_answered: bool,
}

#[derive(Debug, Clone, Copy)]
struct Confirm {
    is_ack: bool,
    /// It came without a returned message.
    is_clear: bool,
}

impl Tally {
    /// Of a group of these messages, no two under one id.
    pub(crate) fn new(ids: impl IntoIterator<Item = EventId>) -> Self {
        let heard = |id| Heard { id, confirm: None, returned: None, is_answered: false };
        Self { messages: ids.into_iter().map(heard).collect(), stray: false, broken: None }
    }

    /// The broker confirmed this message.
    pub(crate) fn confirmed(&mut self, place: usize, confirmation: Confirmation) {
        let (is_ack, returned) = match confirmation {
            Confirmation::Ack(returned) => (true, returned),
            Confirmation::Nack(returned) => (false, returned),
            Confirmation::NotRequested => {
                return self.broken(NotConfirmed::Unreachable("the channel does not confirm".to_owned()));
            }
        };
        self.messages[place].confirm = Some(Confirm { is_ack, is_clear: returned.is_none() });
        if let Some(returned) = returned {
            self.returned(&returned);
        }
    }

    fn returned(&mut self, returned: &BasicReturnMessage) {
        let id = returned.properties.message_id().as_ref().and_then(|id| id.as_str().parse().ok());
        let is_only_one = self.messages.len() == 1;
        match self.messages.iter_mut().find(|message| is_only_one || Some(message.id) == id) {
            Some(message) => {
                message.returned = Some(format!("returned: {} {}", returned.reply_code, returned.reply_text));
            }
            None => self.stray = true,
        }
    }

    /// An error came in place of a confirm. All errors of a group come of one end of its channel, of which the broker's words say more than
    /// that it has ended.
    pub(crate) fn broken(&mut self, why: NotConfirmed) {
        let says_more = !matches!(why, NotConfirmed::Unreachable(_));
        if self.broken.as_ref().is_none_or(|known| says_more && matches!(known, NotConfirmed::Unreachable(_))) {
            self.broken = Some(why);
        }
    }

    /// Why no further confirm comes.
    pub(crate) fn why_broken(&self) -> Option<&NotConfirmed> {
        self.broken.as_ref()
    }

    /// Whether nothing more is waited for.
    pub(crate) fn is_over(&self) -> bool {
        self.broken.is_some() || self.messages.iter().all(|message| message.confirm.is_some())
    }

    /// What is known by now and was not told before. To be asked only when every confirm was looked at since the last one was heard of.
    pub(crate) fn news(&mut self) -> Vec<(usize, Answer)> {
        let is_over = self.is_over();
        // The line of returned messages is empty, whichever confirms they came with.
        let is_complete = is_over && self.broken.is_none();
        let lost = match &self.broken {
            Some(why) if self.messages.len() == 1 || matches!(why, NotConfirmed::Unreachable(_)) => {
                Answer::Not(why.clone())
            }
            // One of several is to blame: by itself it shows.
            Some(_) | None => Answer::Again,
        };
        let mut news = Vec::new();
        for (place, message) in self.messages.iter_mut().enumerate().filter(|(_, message)| !message.is_answered) {
            let answer = match (message.returned.take(), message.confirm) {
                (Some(words), _) => Answer::Returned(words),
                (None, Some(confirm)) if !self.stray && (confirm.is_clear || is_complete) => confirm.answer(),
                _ if is_over => lost.clone(),
                _ => continue,
            };
            message.is_answered = true;
            news.push((place, answer));
        }
        news
    }
}

impl Confirm {
    fn answer(self) -> Answer {
        if self.is_ack {
            Answer::Stored
        } else {
            let why = "not acknowledged: a queue is full, or could not store it".to_owned();
            Answer::Not(NotConfirmed::Refused(why))
        }
    }
}

#[cfg(test)]
mod tests {
    use lapin::BasicProperties;
    use lapin::message::Delivery;

    use super::*;

    fn id(number: u128) -> EventId {
        EventId::from(uuid::Uuid::from_u128(number))
    }

    /// A group of the messages 0, 1, 2 and so on.
    fn group(count: u128) -> Tally {
        Tally::new((0..count).map(id))
    }

    fn returned(number: u128) -> BasicReturnMessage {
        let mut delivery = Delivery::mock(0, "shop".into(), "order".into(), false, Vec::new());
        delivery.properties = BasicProperties::default().with_message_id(id(number).to_string().as_str().into());
        BasicReturnMessage { delivery, reply_code: 312, reply_text: "NO_ROUTE".into() }
    }

    fn unroutable() -> Answer {
        Answer::Returned("returned: 312 NO_ROUTE".to_owned())
    }

    fn refused(news: &Answer) -> bool {
        matches!(news, Answer::Not(NotConfirmed::Refused(_)))
    }

    /// A confirm that came without a returned message waits for no neighbour.
    #[test]
    fn a_clear_confirm_is_an_answer_at_once() {
        let mut tally = group(3);
        tally.confirmed(1, Confirmation::Ack(None));
        assert_eq!(tally.news(), [(1, Answer::Stored)]);
        assert!(!tally.is_over() && tally.news().is_empty());
    }

    /// The confirm of 2 was resolved first, and took the return of 0 along: 2 is stored, and 0 is not.
    #[test]
    fn a_return_is_the_message_of_its_id_whichever_confirm_it_came_with() {
        let mut tally = group(3);
        tally.confirmed(2, Confirmation::Ack(Some(returned(0))));
        // 2 may have been returned too, behind 0.
        assert_eq!(tally.news(), [(0, unroutable())]);
        tally.confirmed(0, Confirmation::Ack(None));
        assert!(tally.news().is_empty(), "it was told already");
        tally.confirmed(1, Confirmation::Ack(None));
        assert_eq!(tally.news(), [(1, Answer::Stored), (2, Answer::Stored)]);
        assert!(tally.is_over() && tally.why_broken().is_none());
    }

    /// The confirms were resolved in the order 1, 2, 0, with both returns waiting.
    #[test]
    fn returns_that_are_mixed_up_are_all_found() {
        let mut tally = group(3);
        tally.confirmed(1, Confirmation::Ack(Some(returned(2))));
        tally.confirmed(2, Confirmation::Ack(Some(returned(1))));
        tally.confirmed(0, Confirmation::Ack(None));
        assert_eq!(tally.news(), [(0, Answer::Stored), (1, unroutable()), (2, unroutable())]);
    }

    /// Whatever the order in which confirms of many at once are resolved, and whichever of the messages were returned.
    #[test]
    fn no_order_of_confirms_takes_a_returned_message_for_a_stored_one() {
        for lost in 0..16_u128 {
            for order in orders() {
                let mut tally = group(4);
                let mut line = (0..4).filter(|number| lost >> number & 1 == 1).collect::<Vec<_>>().into_iter();
                let mut answers = Vec::new();
                for place in order {
                    tally.confirmed(place, Confirmation::Ack(line.next().map(returned)));
                    answers.extend(tally.news());
                }
                answers.sort_by_key(|(place, _)| *place);
                let expected = (0..4).map(|place| match lost >> place & 1 {
                    1 => (place, unroutable()),
                    _ => (place, Answer::Stored),
                });
                assert_eq!(answers, expected.collect::<Vec<_>>(), "{lost:04b} {order:?}");
            }
        }
    }

    fn orders() -> Vec<[usize; 4]> {
        let places = (0..256).map(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6 & 3]);
        places.filter(|order| (0..4).all(|place| order.contains(&place))).collect()
    }

    #[test]
    fn a_refusal_is_its_own_message_s_though_it_came_with_the_return_of_another() {
        let mut tally = group(2);
        tally.confirmed(0, Confirmation::Nack(Some(returned(1))));
        tally.confirmed(1, Confirmation::Ack(None));
        let news = tally.news();
        assert!(news[0].0 == 0 && refused(&news[0].1), "{news:?}");
        assert_eq!(news[1], (1, unroutable()));
    }

    /// What was confirmed before the channel broke is not sent again; what was not is, by itself.
    #[test]
    fn the_rest_of_a_group_that_breaks_is_sent_one_by_one() {
        let mut tally = group(4);
        tally.confirmed(0, Confirmation::Ack(None));
        tally.confirmed(1, Confirmation::Ack(Some(returned(3))));
        tally.broken(NotConfirmed::Unreachable("invalid channel state".to_owned()));
        tally.broken(NotConfirmed::Unsendable("PRECONDITION_FAILED".to_owned()));
        assert!(tally.is_over());
        // 1 is confirmed, and may have been returned behind 3.
        let expected = [(0, Answer::Stored), (1, Answer::Again), (2, Answer::Again), (3, unroutable())];
        assert_eq!(tally.news(), expected);
    }

    #[test]
    fn one_that_breaks_its_channel_by_itself_is_to_blame() {
        let why = NotConfirmed::Unsendable("PRECONDITION_FAILED".to_owned());
        let mut tally = group(1);
        tally.broken(why.clone());
        assert_eq!(tally.news(), [(0, Answer::Not(why))]);
    }

    /// It is nobody's fault, and to send them again at once is of no use.
    #[test]
    fn a_connection_that_is_lost_is_the_answer_for_all_that_are_not_known() {
        let why = NotConfirmed::Unreachable("reset by peer".to_owned());
        let mut tally = group(3);
        tally.confirmed(1, Confirmation::Ack(None));
        tally.broken(why.clone());
        assert_eq!(tally.news(), [(0, Answer::Not(why.clone())), (1, Answer::Stored), (2, Answer::Not(why))]);
    }

    /// A broker that changes ids leaves open which message it returned.
    #[test]
    fn a_return_of_nobody_has_them_sent_one_by_one() {
        let mut tally = group(2);
        tally.confirmed(0, Confirmation::Ack(Some(returned(7))));
        tally.confirmed(1, Confirmation::Ack(None));
        assert_eq!(tally.news(), [(0, Answer::Again), (1, Answer::Again)]);
        let mut tally = group(1);
        tally.confirmed(0, Confirmation::Ack(Some(returned(7))));
        assert_eq!(tally.news(), [(0, unroutable())]);
    }
}
