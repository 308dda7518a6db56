use std::fmt;

/// What a reconciliation found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconciled {
    /// Keys that were compared.
    pub compared: u64,
    /// The authority had them, the projection did not.
    pub missing: u64,
    /// Both had them, and differed.
    pub divergent: u64,
    /// The projection had them, the authority did not.
    pub orphaned: u64,
    /// Differed at first and no longer a little later, or moved on and on: events were on their way.
    pub in_flight: u64,
    /// Of the drifted ones, how many were mended.
    pub repaired: u64,
    /// Of the drifted ones, how many could not be mended.
    pub failed: u64,
    /// Whether both sides were gone over to their end.
    pub complete: bool,
}

impl Reconciled {
    /// Entries that had drifted, whether they were mended or not.
    #[must_use]
    pub fn drift(&self) -> u64 {
        self.missing + self.divergent + self.orphaned
    }

    /// Into the log and the meters. What had drifted is told as it was found: a gauge that the repair sets back would never be seen.
    pub(super) fn tell(&self, name: &'static str) {
        tracing::info!(reconciliation = name, %self, "reconciled");
        let kinds = [
            ("missing", self.missing),
            ("divergent", self.divergent),
            ("orphaned", self.orphaned),
            ("in_flight", self.in_flight),
            ("repaired", self.repaired),
            ("failed", self.failed),
        ];
        for (kind, count) in kinds {
            metrics::counter!("outbox_reconciled_total", "reconciliation" => name, "kind" => kind).increment(count);
        }
        #[allow(clippy::cast_precision_loss, reason = "no gauge needs to be exact beyond 2^53")]
        metrics::gauge!("outbox_drift", "reconciliation" => name).set(self.drift() as f64);
    }
}

impl fmt::Display for Reconciled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { compared, missing, divergent, orphaned, in_flight, repaired, failed, complete } = self;
        write!(f, "{compared} compared: {missing} missing, {divergent} divergent, {orphaned} orphaned")?;
        write!(f, ", {in_flight} in flight; {repaired} repaired, {failed} not")?;
        if *complete { Ok(()) } else { f.write_str("; ended early") }
    }
}
