//! What the acts found out, for the report.

use serde::Serialize;

use crate::load::Answered;
use crate::tree::Tree;

/// What happened, act by act.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) answered: Answered,
    pub(crate) versions: Versions,
    pub(crate) outage: Outage,
    pub(crate) kills: Kills,
    pub(crate) quarantine: Quarantine,
    pub(crate) drift: Drift,
    pub(crate) replay: Replay,
    pub(crate) trace: Tree,
}

/// The transition from one version to the next.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Versions {
    /// Sold by the first release, told as version 1 alone.
    pub(crate) told_as_the_first: usize,
    /// Told as both, and charged by who knows version 1.
    pub(crate) read_as_the_first: i64,
    /// Charged in francs by who knows version 2, which version 1 could not say.
    pub(crate) charged_in_francs: i64,
}

/// The broker that was away.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Outage {
    pub(crate) seconds: f64,
    /// Facts that waited for it when it came back.
    pub(crate) waiting: i64,
    /// How many of them were charged an attempt.
    pub(crate) charged: i64,
    /// Most attempts of a fact that had waited: 1 is the one that succeeded.
    pub(crate) most_attempts: i64,
    /// From its return until all of them had arrived.
    pub(crate) caught_up_seconds: f64,
}

/// What processes held when they were killed.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Kills {
    pub(crate) billing_held: i64,
    pub(crate) policy_held: i64,
}

/// What nobody could take.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Quarantine {
    /// Why, by class, in the order of their arrival.
    pub(crate) reasons: Vec<String>,
    /// Charges that were made while they lay there: the rest went on.
    pub(crate) charged_meanwhile: i64,
    pub(crate) redriven: i64,
    pub(crate) discarded: i64,
}

/// What was damaged by hand, and found.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Drift {
    pub(crate) compared: i64,
    pub(crate) missing: i64,
    pub(crate) divergent: i64,
    pub(crate) orphaned: i64,
    pub(crate) repaired: i64,
    /// Facts that came while it was compared.
    pub(crate) came_meanwhile: i64,
    /// Differences that were none a little later: such a fact was on its way.
    pub(crate) in_flight: i64,
}

/// What was sent, and handled, once more.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Replay {
    /// Facts that the relay sent again.
    pub(crate) resent: i64,
    /// Events whose effect the replayed handler had had.
    pub(crate) done_before: i64,
    /// Charges and notes that came of it.
    pub(crate) second_effects: i64,
}
