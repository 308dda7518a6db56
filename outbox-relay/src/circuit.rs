//! The rules of one destination: how many messages may be under way, when none may, and when one is sent to see. No clock, no waiting.

use std::time::Duration;

use tokio::time::Instant;

/// What the rules are told once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Most messages under way.
    pub(crate) window: u32,
    /// How long the first pause lasts.
    pub(crate) first_pause: Duration,
    /// How long the longest does.
    pub(crate) longest_pause: Duration,
}

/// A destination is **closed** while messages go, **open** after it could not be reached, and **probed** by one message when its pause is
/// over. Behind an outage the window begins at one message and doubles with each round of answers.
#[derive(Debug)]
pub(crate) struct Circuit {
    limits: Limits,
    state: State,
    /// Grows whenever the circuit opens: what was sent before says nothing about the time behind.
    epoch: u64,
    /// How many messages may be under way now.
    window: u32,
    under_way: u32,
    /// Pauses one after another, without a full window between them.
    failures: u32,
    /// Answers of this epoch.
    answers: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Instant },
    Probed,
}

/// Whether a message may be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Now. What became of it is to be said.
    Go(Ticket),
    /// When another one has been answered.
    Wait,
    /// Not before this.
    Closed(Instant),
}

/// One message under way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    epoch: u64,
    answers: u64,
}

/// What a silence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The destination answers nobody.
    OfAll,
    /// It answered others meanwhile.
    OfOne,
}

/// What a caller may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CircuitState {
    /// Messages go.
    Closed,
    /// None goes: the destination could not be reached.
    Open,
    /// One is sent to see whether it can be reached again.
    Probed,
}

impl Circuit {
    pub(crate) fn new(limits: Limits) -> Self {
        // The first messages of a process find out whether anybody is there, before a whole window is sent.
        Self { limits, state: State::Closed, epoch: 0, window: 1, under_way: 0, failures: 0, answers: 0 }
    }

    /// Asks to send one message.
    pub(crate) fn admit(&mut self, now: Instant) -> Admission {
        match self.state {
            State::Open { until } if now < until => Admission::Closed(until),
            State::Open { .. } => {
                self.state = State::Probed;
                self.go()
            }
            State::Closed if self.under_way < self.window => self.go(),
            State::Closed | State::Probed => Admission::Wait,
        }
    }

    fn go(&mut self) -> Admission {
        self.under_way += 1;
        Admission::Go(Ticket { epoch: self.epoch, answers: self.answers })
    }

    /// The destination answered, be it that it refuses this message.
    pub(crate) fn answered(&mut self, ticket: &Ticket) {
        if !self.ended(ticket) {
            return;
        }
        self.answers += 1;
        self.state = State::Closed;
        self.window = (self.window + 1).min(self.limits.window);
        if self.window == self.limits.window {
            self.failures = 0;
        }
    }

    /// The destination could not be reached. `random` is in `[0, 1)`.
    pub(crate) fn unreachable(&mut self, ticket: &Ticket, now: Instant, random: f64) {
        if self.ended(ticket) {
            self.open(now, random);
        }
    }

    /// A message had no answer in time.
    pub(crate) fn silent(&mut self, ticket: &Ticket, now: Instant, random: f64) -> Silence {
        if !self.ended(ticket) {
            return Silence::OfAll;
        }
        if self.answers > ticket.answers {
            return Silence::OfOne;
        }
        self.open(now, random);
        Silence::OfAll
    }

    /// Nobody waits for the message's answer any more, and nothing is known of the destination.
    pub(crate) fn forgotten(&mut self, ticket: &Ticket, now: Instant) {
        if self.ended(ticket) && self.state == State::Probed {
            // Another one probes.
            self.state = State::Open { until: now };
        }
    }

    /// Whether the ticket is of this epoch.
    fn ended(&mut self, ticket: &Ticket) -> bool {
        let is_current = ticket.epoch == self.epoch;
        if is_current {
            self.under_way -= 1;
        }
        is_current
    }

    fn open(&mut self, now: Instant, random: f64) {
        self.state = State::Open { until: now + self.pause(random) };
        self.epoch += 1;
        self.answers = 0;
        // What is under way still is of the former epoch, and its end is not counted any more.
        self.under_way = 0;
        self.window = 1;
        self.failures = self.failures.saturating_add(1);
    }

    /// Twice the last one, at most the longest, and up to a fifth more, so that processes do not knock together.
    fn pause(&self, random: f64) -> Duration {
        let doubled = self.limits.first_pause.saturating_mul(2_u32.saturating_pow(self.failures.min(31)));
        doubled.min(self.limits.longest_pause).mul_f64(1.0 + random / 5.0)
    }

    pub(crate) fn state(&self) -> CircuitState {
        match self.state {
            State::Closed => CircuitState::Closed,
            State::Open { .. } => CircuitState::Open,
            State::Probed => CircuitState::Probed,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    pub(crate) fn window(&self) -> u32 {
        self.window
    }

    pub(crate) fn under_way(&self) -> u32 {
        self.under_way
    }

    /// How many pauses there were.
    pub(crate) fn pauses(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// How long it pauses from now on.
    pub(crate) fn pauses_for(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Open { until } => Some(until.saturating_duration_since(now)),
            State::Closed | State::Probed => None,
        }
    }
}

#[cfg(test)]
#[path = "circuit/tests.rs"]
mod tests;
