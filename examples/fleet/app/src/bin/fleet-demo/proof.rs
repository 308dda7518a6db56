//! What was to come out beside what did.

use std::collections::BTreeMap;

use contracts::Money;
use serde::Serialize;

use crate::acts::STEPS;
use crate::facts::Facts;
use crate::stage::Stage;
use crate::tables::{charges, events, failed_jobs, live_jobs, number, policies};

/// One line of the proof.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Check {
    pub(crate) what: &'static str,
    pub(crate) expected: i64,
    /// Whether more is as good.
    pub(crate) at_least: bool,
    pub(crate) found: i64,
}

impl Check {
    pub(crate) fn holds(&self) -> bool {
        self.expected == self.found || (self.at_least && self.found > self.expected)
    }
}

/// All lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proof(pub(crate) Vec<Check>);

impl Proof {
    /// Reads the tables of both services.
    pub(crate) async fn of(stage: &Stage, facts: &Facts) -> anyhow::Result<Self> {
        let mut proof = Self::default();
        proof.policies(stage, facts).await?;
        proof.charges(stage, facts).await?;
        proof.events(stage).await?;
        proof.acts(facts);
        Ok(proof)
    }

    pub(crate) fn holds(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(Check::holds)
    }

    fn check(&mut self, what: &'static str, expected: i64, found: i64) {
        self.0.push(Check { what, expected, at_least: false, found });
    }

    fn some(&mut self, what: &'static str, found: i64) {
        self.0.push(Check { what, expected: 1, at_least: true, found });
    }

    async fn policies(&mut self, stage: &Stage, facts: &Facts) -> anyhow::Result<()> {
        let sold = &facts.answered.sold;
        let authority = policies(&stage.policy.pool, "policy").await?;
        let projection = policies(&stage.billing.pool, "billing").await?;
        self.check("policies acknowledged, and in the authority", counted(sold.len()), counted(authority.len()));
        let lost = sold.keys().filter(|id| !authority.contains_key(*id)).count();
        self.check("acknowledged, and lost", 0, counted(lost));
        let refused = authority.keys().filter(|id| id.starts_with("REFUSED")).count();
        self.check("refused, and there all the same", 0, counted(refused));
        self.check("policies in billing's projection", counted(authority.len()), counted(projection.len()));
        let differing = authority.iter().filter(|(id, state)| projection.get(*id) != Some(state)).count();
        self.check("of these, not as the authority has them", 0, counted(differing));
        Ok(())
    }

    async fn charges(&mut self, stage: &Stage, facts: &Facts) -> anyhow::Result<()> {
        let sold = &facts.answered.sold;
        let ledger = charges(&stage.billing.pool, "billing.ledger").await?;
        let noted = charges(&stage.policy.pool, "policy.invoices").await?;
        self.check("charges in billing's ledger", counted(sold.len()), total(&ledger));
        self.check("charged not at all, twice, or wrongly", 0, wrong(sold, &ledger));
        self.check("invoices that came back to policy", counted(sold.len()), total(&noted));
        self.check("noted not at all, twice, or wrongly", 0, wrong(sold, &noted));
        Ok(())
    }

    async fn events(&mut self, stage: &Stage) -> anyhow::Result<()> {
        let (policy, billing) = (&stage.policy.pool, &stage.billing.pool);
        for (what, pattern) in
            [("policy's facts, here and there", "policy.%"), ("billing's facts, here and there", "invoice.%")]
        {
            let (there, here) = (events(policy, pattern).await?, events(billing, pattern).await?);
            self.check(what, counted(there.union(&here).count()), counted(there.intersection(&here).count()));
        }
        self.check("jobs that wait", 0, live_jobs(policy).await? + live_jobs(billing).await?);
        self.check("jobs that failed", 0, failed_jobs(policy).await? + failed_jobs(billing).await?);
        let quarantined = "select count(*) from system.quarantine";
        self.check(
            "messages in quarantine",
            0,
            number(policy, quarantined).await? + number(billing, quarantined).await?,
        );
        Ok(())
    }

    fn acts(&mut self, facts: &Facts) {
        let Facts { versions, outage, kills, quarantine, drift, replay, trace, .. } = facts;
        self.some("versions: read as 1", versions.read_as_the_first);
        self.some("versions: read as 2", versions.charged_in_francs);
        self.some("outage: facts waited", outage.waiting);
        self.check("outage: attempts charged to them", 0, outage.charged);
        self.check("outage: most attempts of one", 1, outage.most_attempts);
        self.some("kills: jobs in billing's hands", kills.billing_held);
        self.some("kills: jobs in policy's hands", kills.policy_held);
        self.check("quarantine: came, and went", 3, quarantine.redriven + quarantine.discarded);
        self.check("drift: missing", 1, drift.missing);
        self.check("drift: divergent", 1, drift.divergent);
        self.check("drift: orphaned", 1, drift.orphaned);
        self.check("drift: mended", 3, drift.repaired);
        self.some("drift: facts came meanwhile", drift.came_meanwhile);
        self.some("replay: sent again", replay.resent);
        self.check("replay: second effects", 0, replay.second_effects);
        let steps = STEPS.iter().filter(|(service, what)| trace.has(service, what)).count();
        self.check("trace: steps of a sale, in both services", counted(STEPS.len()), counted(steps));
        self.check("trace: beginnings", 1, counted(trace.roots().len()));
    }
}

/// Policies that were not charged exactly once, with exactly this; and those that were and should not have been.
fn wrong(sold: &BTreeMap<String, Money>, charged: &BTreeMap<String, Vec<Money>>) -> i64 {
    let is_right =
        |(id, premium): &(&String, &Money)| charged.get(*id).is_some_and(|all| all.as_slice() == [(*premium).clone()]);
    let wrong = sold.iter().filter(|one| !is_right(one)).count();
    let strange = charged.keys().filter(|id| !sold.contains_key(*id)).count();
    counted(wrong + strange)
}

fn total(charged: &BTreeMap<String, Vec<Money>>) -> i64 {
    charged.values().map(|all| counted(all.len())).sum()
}

fn counted(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charged(list: &[(&str, &[i64])]) -> BTreeMap<String, Vec<Money>> {
        let euros = |cents: &&[i64]| cents.iter().copied().map(Money::euros).collect();
        list.iter().map(|(id, cents)| ((*id).to_owned(), euros(cents))).collect()
    }

    /// A charge that is missing, double, of another amount or of no policy is seen.
    #[test]
    fn a_wrong_ledger_is_seen() {
        let sold = BTreeMap::from([("a".to_owned(), Money::euros(1)), ("b".to_owned(), Money::euros(2))]);
        assert_eq!(wrong(&sold, &charged(&[("a", &[1]), ("b", &[2])])), 0);
        assert_eq!(wrong(&sold, &charged(&[("a", &[1])])), 1);
        assert_eq!(wrong(&sold, &charged(&[("a", &[1]), ("b", &[2, 2])])), 1);
        assert_eq!(wrong(&sold, &charged(&[("a", &[3]), ("b", &[2])])), 1);
        assert_eq!(wrong(&sold, &charged(&[("a", &[1]), ("b", &[2]), ("c", &[1])])), 1);
    }

    /// Nothing looked at proves nothing, and one line that differs is enough.
    #[test]
    fn a_proof_needs_every_line() {
        let line = |at_least, found| Check { what: "a line", expected: 1, at_least, found };
        assert!(!Proof::default().holds());
        assert!(Proof(vec![line(false, 1), line(true, 1), line(true, 2)]).holds());
        assert!(!Proof(vec![line(false, 1), line(false, 2)]).holds());
        assert!(!Proof(vec![line(true, 0)]).holds());
    }
}
