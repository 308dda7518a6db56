//! What was to come out beside what did.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::expected::Expected;
use crate::tables::{Counts, Effects, Fate};

/// One line of the proof.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Check {
    pub(crate) what: &'static str,
    pub(crate) expected: i128,
    pub(crate) found: i128,
}

impl Check {
    pub(crate) fn holds(&self) -> bool {
        self.expected == self.found
    }
}

/// All lines.
#[derive(Debug, Clone)]
pub(crate) struct Proof(pub(crate) Vec<Check>);

impl Proof {
    pub(crate) fn of(
        expected: &Expected,
        jobs: u64,
        counts: &Counts,
        fates: &BTreeMap<String, Fate>,
        effects: &Effects,
    ) -> Self {
        let mut checks = Vec::new();
        let mut check = |what, expected: i128, found: i128| checks.push(Check { what, expected, found });
        let orders = i128::from(expected.orders);
        check("orders paid", orders, effects.orders_paid.into());
        check("events", orders, counts.events.into());
        check("orders with an event", orders, effects.orders_published.into());
        check("jobs succeeded", jobs.into(), counts.succeeded.into());
        check("jobs lost", 0, lost(jobs, counts));
        check("subscribers with a job of every order", subscribers(expected, jobs), complete(expected, fates));
        check(
            "units taken from stock",
            expected.units.into(),
            effects.units_by_sku.values().copied().map(i128::from).sum(),
        );
        check("products with the wrong stock", 0, wrong_stock(expected, effects));
        check("orders marked as confirmed", orders, effects.confirmations.into());
        check("letters delivered", orders, effects.letters.into());
        check("orders with a letter", orders, effects.orders_written_to.into());
        check("revenue in cents, from the file", expected.revenue_cents, effects.revenue_cents);
        check("revenue in cents, from the order lines", effects.revenue_of_lines, effects.revenue_cents);
        check("pairs of products counted", expected.pairs.into(), effects.pairs.into());
        check("abandoned carts resolved", counted(expected.customers.len()), effects.carts_resolved.into());
        Self(checks)
    }

    pub(crate) fn holds(&self) -> bool {
        self.0.iter().all(Check::holds)
    }
}

/// Jobs that should be there, in whatever status, and are not.
pub(crate) fn lost(jobs: u64, counts: &Counts) -> i128 {
    i128::from(jobs) - i128::from(counts.settled() + counts.pending + counts.running)
}

fn subscribers(expected: &Expected, jobs: u64) -> i128 {
    jobs.checked_div(expected.orders).unwrap_or(0).into()
}

fn complete(expected: &Expected, fates: &BTreeMap<String, Fate>) -> i128 {
    counted(fates.values().filter(|fate| fate.succeeded == expected.orders).count())
}

fn wrong_stock(expected: &Expected, effects: &Effects) -> i128 {
    let skus = expected
        .units_by_sku
        .keys()
        .chain(effects.units_by_sku.keys().filter(|sku| !expected.units_by_sku.contains_key(*sku)));
    counted(skus.filter(|sku| expected.units_by_sku.get(*sku) != effects.units_by_sku.get(*sku)).count())
}

fn counted(length: usize) -> i128 {
    i128::try_from(length).unwrap_or(i128::MAX)
}
