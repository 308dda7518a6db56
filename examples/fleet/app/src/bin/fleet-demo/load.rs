//! Clients of the policy service, who give commands all the time, and write down what they were answered.

mod client;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contracts::Money;
use tokio::task::JoinSet;

pub(crate) use self::client::Client;

/// So many at once.
const CLIENTS: u32 = 4;

/// What all clients share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    stop: AtomicBool,
    /// Whether policies are sold in francs too: when billing knows what a currency is.
    francs: AtomicBool,
    commands: AtomicU64,
    refused: AtomicU64,
    /// Answers that did not come: the same is asked again until one does.
    unanswered: AtomicU64,
    /// Every policy that was acknowledged, with its first premium: what is to be charged.
    sold: Mutex<BTreeMap<String, Money>>,
}

impl Shared {
    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A policy was acknowledged.
    pub(crate) fn sold(&self, policy_id: String, premium: Money) {
        self.sold_until_now().insert(policy_id, premium);
    }

    fn sold_until_now(&self) -> MutexGuard<'_, BTreeMap<String, Money>> {
        // No panic can leave it half written.
        self.sold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clients at work. Dropped, they stop in the middle.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) shared: Arc<Shared>,
    clients: JoinSet<anyhow::Result<()>>,
}

/// What the clients were answered, all together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answered {
    /// Carried out.
    pub(crate) commands: u64,
    /// Refused, as they had to be.
    pub(crate) refused: u64,
    /// Asked again, because no answer came.
    pub(crate) unanswered: u64,
    /// Every policy, with its first premium.
    pub(crate) sold: BTreeMap<String, Money>,
}

impl Load {
    /// Begins to give commands at this address, so many a second.
    pub(crate) fn start(address: &str, rate: u32) -> Self {
        let shared = Arc::<Shared>::default();
        let pause = Duration::from_secs(1) * CLIENTS / rate;
        let mut clients = JoinSet::new();
        for number in 1..=CLIENTS {
            clients.spawn(Client::new(number, address, Arc::clone(&shared)).work(pause));
        }
        Self { shared, clients }
    }

    /// From now on some policies cost francs.
    pub(crate) fn sell_in_francs(&self) {
        self.shared.francs.store(true, Ordering::Relaxed);
    }

    /// How many policies were acknowledged by now.
    pub(crate) fn sold(&self) -> usize {
        self.shared.sold_until_now().len()
    }

    /// Ends, each client behind the command that it is at.
    pub(crate) async fn stop(mut self) -> anyhow::Result<Answered> {
        self.shared.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended??;
        }
        let Shared { commands, refused, unanswered, .. } = &*self.shared;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(Answered {
            commands: count(commands),
            refused: count(refused),
            unanswered: count(unanswered),
            sold: self.shared.sold_until_now().clone(),
        })
    }
}
