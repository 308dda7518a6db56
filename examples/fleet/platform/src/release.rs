//! Which release of a service runs.

use std::fmt;
use std::str::FromStr;

use outbox::{Registry, SubscriberDescriptor};

/// A release of a service. In a fleet each is a build of its own, with the contracts of its day; here one build holds all three, and a
/// service is told at its start which of them it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// Knows `policy.created.v1`.
    First,
    /// Knows version 2 as well. The policy service of this release publishes both.
    Second,
    /// Knows version 3 as well. The policy service of this release publishes it alone.
    Third,
}

impl Release {
    const ALL: [Self; 3] = [Self::First, Self::Second, Self::Third];

    /// The latest version of `policy.created` that it knows.
    #[must_use]
    pub fn version(self) -> u32 {
        match self {
            Self::First => 1,
            Self::Second => 2,
            Self::Third => 3,
        }
    }
}

/// What a build of this release would have linked: the contracts of its day, and those handlers that it `has`.
#[must_use]
pub fn registry(release: Release, has: impl Fn(&SubscriberDescriptor) -> bool) -> Registry {
    let linked = Registry::linked();
    let events = linked.events().iter().copied();
    let events = events.filter(|event| event.name != "policy.created" || event.version <= release.version());
    let subscribers = linked.subscribers().iter().copied().filter(|subscriber| has(subscriber));
    Registry::of(events, linked.jobs().iter().copied(), subscribers)
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version().fmt(f)
    }
}

impl FromStr for Release {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|release| release.to_string() == text).ok_or("a release is 1, 2 or 3")
    }
}
