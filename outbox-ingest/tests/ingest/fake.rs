//! A broker of the tests' own: a queue in memory, of which is known what was acknowledged, and what was given back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use outbox::BoxError;
use outbox_ingest::{Acknowledge, Delivery, Link, Source};
use tokio::sync::Notify;

/// A message as a producer publishes it.
#[derive(Clone, Debug)]
pub struct Sent {
    pub attributes: Vec<(String, Vec<u8>)>,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Sent {
    /// An event's message.
    pub fn event(id: &str, wire_name: &str, body: &str) -> Self {
        let attributes = [("specversion", "1.0"), ("id", id), ("type", wire_name)];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        Self { attributes: attributes.into(), headers: Vec::new(), body: body.as_bytes().to_vec() }
    }

    /// With another attribute, in the place of one of that name.
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.attributes.retain(|(one, _)| one != name);
        self.attributes.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.attributes.retain(|(one, _)| one != name);
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn id(&self) -> String {
        let id = self.attributes.iter().find(|(name, _)| name == "id").map(|(_, id)| id.clone());
        String::from_utf8_lossy(&id.unwrap_or_default()).into_owned()
    }
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Sent, bool)>,
    acknowledged: Vec<Sent>,
    given_back: Vec<Sent>,
    /// Received by somebody, and no word about them yet.
    in_hand: usize,
    most_in_hand: usize,
    receives: usize,
    /// Whether acknowledgements are lost on their way.
    loses: bool,
}

type Witness = Arc<dyn Fn(&Sent) + Send + Sync>;

/// All clones are the same broker.
#[derive(Clone)]
pub struct Fake {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
    link: Link,
    witness: Option<Witness>,
}

impl Fake {
    pub fn new() -> Self {
        let link = Link::new();
        link.connected();
        Self { state: Arc::default(), changed: Arc::new(Notify::new()), link, witness: None }
    }

    /// Has each acknowledgement seen at the moment at which it is given.
    pub fn seen_by(self, witness: impl Fn(&Sent) + Send + Sync + 'static) -> Self {
        Self { witness: Some(Arc::new(witness)), ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn send(&self, message: &Sent) {
        self.state().waiting.push_back((message.clone(), false));
        self.changed.notify_waiters();
    }

    pub fn send_all<'m>(&self, messages: impl IntoIterator<Item = &'m Sent>) {
        let messages = messages.into_iter().map(|message| (message.clone(), false));
        self.state().waiting.extend(messages);
        self.changed.notify_waiters();
    }

    pub fn lose_acknowledgements(&self, lose: bool) {
        self.state().loses = lose;
    }

    pub fn acknowledged(&self) -> Vec<String> {
        self.state().acknowledged.iter().map(Sent::id).collect()
    }

    pub fn given_back(&self) -> usize {
        self.state().given_back.len()
    }

    pub fn in_hand(&self) -> usize {
        self.state().in_hand
    }

    pub fn most_in_hand(&self) -> usize {
        self.state().most_in_hand
    }

    /// How often somebody has asked for messages and got some.
    pub fn receives(&self) -> usize {
        self.state().receives
    }

    pub async fn until_acknowledged(&self, count: usize) {
        let what = format!("{count} messages are acknowledged");
        outbox_testing::eventually(&what, async || (self.state().acknowledged.len() >= count).then_some(())).await;
    }

    fn take(&self, most: usize) -> Vec<Delivery> {
        let mut state = self.state();
        let count = most.min(state.waiting.len());
        let taken: Vec<_> = state.waiting.drain(..count).collect();
        state.in_hand += taken.len();
        state.most_in_hand = state.most_in_hand.max(state.in_hand);
        state.receives += usize::from(count > 0);
        drop(state);
        taken.into_iter().map(|(message, again)| self.delivery(&message, again)).collect()
    }

    fn delivery(&self, message: &Sent, again: bool) -> Delivery {
        let mut delivery = Delivery::new(message.body.clone(), Word { fake: self.clone(), message: message.clone() })
            .content_type("application/json")
            .route("fake.route")
            .redelivered(again);
        for (name, value) in &message.attributes {
            delivery = delivery.attribute(name, value.clone());
        }
        for (name, value) in &message.headers {
            delivery = delivery.header(name, value.clone());
        }
        delivery
    }
}

struct Word {
    fake: Fake,
    message: Sent,
}

impl Acknowledge for Word {
    async fn acknowledge(self) -> Result<(), BoxError> {
        if let Some(witness) = &self.fake.witness {
            witness(&self.message);
        }
        let mut state = self.fake.state();
        state.in_hand -= 1;
        if state.loses {
            state.waiting.push_back((self.message, true));
            return Err("lost on its way".into());
        }
        state.acknowledged.push(self.message);
        Ok(())
    }

    async fn give_back(self) -> Result<(), BoxError> {
        let mut state = self.fake.state();
        state.in_hand -= 1;
        state.waiting.push_back((self.message.clone(), true));
        state.given_back.push(self.message);
        drop(state);
        self.fake.changed.notify_waiters();
        Ok(())
    }
}

impl Source for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn link(&self) -> &Link {
        &self.link
    }

    async fn receive(&self, most: usize) -> Vec<Delivery> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let taken = self.take(most);
            if !taken.is_empty() {
                return taken;
            }
            changed.await;
        }
    }
}
