//! How long what has ended is kept.

use std::fmt;

/// How long a worker keeps what has ended, in days. What is older goes by itself, whole days and weeks at a time, on whichever node
/// comes to it first. What has not ended never goes, nor does an event that a job still refers to.
///
/// ```
/// use outbox_postgres::Retention;
///
/// let kept = Retention::default().succeeded(3).events(60).failed(Retention::FOREVER);
/// let all = Retention::off();
/// # assert_ne!(kept, all);
/// ```
///
/// | | default | least |
/// |---|---|---|
/// | [`succeeded`](Self::succeeded) | 7 days | 1 day |
/// | [`events`](Self::events) | 30 days | 7 days, and as long as succeeded jobs |
/// | [`failed`](Self::failed) | 365 days | 7 days |
/// | [`keys`](Self::keys) | 90 days | 7 days, and as long as events |
///
/// Where nodes of one database say different ages, the shortest holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "it is a setting of `Outbox::builder(..)`"]
pub struct Retention {
    succeeded: u32,
    events: u32,
    failed: u32,
    keys: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { succeeded: 7, events: 30, failed: 365, keys: 90 }
    }
}

impl Retention {
    /// An age that nothing reaches.
    pub const FOREVER: u32 = u32::MAX;

    /// This node removes nothing. Others still do, unless they say the same.
    pub const fn off() -> Self {
        Self { succeeded: Self::FOREVER, events: Self::FOREVER, failed: Self::FOREVER, keys: Self::FOREVER }
    }

    /// Jobs that ended well, in days since they did. They go by whole days, in UTC, so up to a day later.
    pub const fn succeeded(self, days: u32) -> Self {
        Self { succeeded: days, ..self }
    }

    /// Events, in days since they were published. They go by whole weeks, so up to a week later, and one that a job still refers to
    /// stays for as long as that job does.
    pub const fn events(self, days: u32) -> Self {
        Self { events: days, ..self }
    }

    /// Failed jobs, in days since they ended, and the history of failed executions. Until then they can be redriven.
    pub const fn failed(self, days: u32) -> Self {
        Self { failed: days, ..self }
    }

    /// Inbox marks and publish keys, in days since they were written: for this long a repetition is noticed. A key never goes before
    /// its event does, nor while a job of it can still run.
    pub const fn keys(self, days: u32) -> Self {
        Self { keys: days, ..self }
    }

    /// The age of each kind, for those that are to go.
    pub(crate) fn age(self, kind: Kind) -> Option<i32> {
        let days = match kind {
            Kind::Succeeded => self.succeeded,
            Kind::Events => self.events,
            Kind::Failed => self.failed,
            Kind::Keys => self.keys,
        };
        // A century is as good as any longer time, and every calendar has it.
        (days != Self::FOREVER).then(|| i32::try_from(days.min(36_500)).unwrap_or(36_500))
    }

    /// Why these ages are not safe.
    pub(crate) fn faults(self) -> Vec<String> {
        let ages = [
            ("succeeded", self.succeeded, 1, "its jobs of a day go together"),
            ("events", self.events, 7, "a retry, a backfill and whoever looks into a failure need them"),
            ("failed", self.failed, 7, "a person has to see them first"),
            ("keys", self.keys, 7, "they keep a repetition from a second effect"),
        ];
        let short = ages.iter().filter(|(_, days, least, _)| days < least).map(|(kind, days, least, why)| {
            format!("`{kind}({days})` is not safe, because {why}: at least {least}, or `Retention::FOREVER`")
        });
        let order = [
            ("events", self.events, "succeeded", self.succeeded, "finished jobs refer to their events"),
            ("keys", self.keys, "events", self.events, "an event may be delivered again for as long as it is there"),
        ];
        let crossed =
            order.iter().filter(|(_, days, _, other, _)| days < other).map(|(kind, days, longer, other, why)| {
                format!("`{kind}({days})` is shorter than `{longer}({})`, but {why}", Days(*other))
            });
        short.chain(crossed).collect()
    }
}

/// What has an age of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Succeeded,
    Events,
    Failed,
    Keys,
}

struct Days(u32);

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Retention::FOREVER { f.write_str("Retention::FOREVER") } else { self.0.fmt(f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_safe_and_so_is_keeping_everything() {
        assert_eq!(Retention::default().faults(), [""; 0]);
        assert_eq!(Retention::off().faults(), [""; 0]);
        assert_eq!(Retention::off().age(Kind::Failed), None);
        assert_eq!(Retention::default().age(Kind::Succeeded), Some(7));
    }

    #[test]
    fn an_age_of_zero_is_refused_and_says_what_is_safe() {
        let said = Retention::default().succeeded(0).faults();
        let expected =
            "`succeeded(0)` is not safe, because its jobs of a day go together: at least 1, or `Retention::FOREVER`";
        assert_eq!(said, [expected]);
        assert_eq!(Retention::default().failed(0).faults().len(), 1);
        assert_eq!(Retention::default().succeeded(1).events(6).keys(6).faults().len(), 2);
    }

    #[test]
    fn what_is_referred_to_is_kept_as_long_as_what_refers_to_it() {
        let said = Retention::default().succeeded(Retention::FOREVER).faults();
        let expected =
            "`events(30)` is shorter than `succeeded(Retention::FOREVER)`, but finished jobs refer to their events";
        assert_eq!(said, [expected]);
        assert_eq!(Retention::default().events(91).faults().len(), 1, "keys are kept for 90 days");
    }

    #[test]
    fn a_very_long_age_is_a_century() {
        assert_eq!(Retention::default().failed(Retention::FOREVER - 1).age(Kind::Failed), Some(36_500));
    }
}
