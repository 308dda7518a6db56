//! What has to come out, worked out from the file alone.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use orders::Order;

/// The figures of a file of orders.
#[derive(Debug)]
pub(crate) struct Expected {
    /// The file itself, for the web role.
    pub(crate) file: Vec<u8>,
    pub(crate) skipped_lines: usize,
    pub(crate) orders: u64,
    pub(crate) lines: usize,
    pub(crate) units: u64,
    pub(crate) revenue_cents: i128,
    pub(crate) units_by_sku: BTreeMap<String, u64>,
    /// Pairs of different products, summed over the orders.
    pub(crate) pairs: u64,
    /// When each customer first ordered.
    pub(crate) customers: BTreeMap<String, DateTime<Utc>>,
}

impl Expected {
    pub(crate) fn of(orders: &[Order], skipped_lines: usize, file: Vec<u8>) -> Self {
        let mut units_by_sku = BTreeMap::new();
        let mut customers = BTreeMap::new();
        for order in orders {
            let first = customers.entry(order.customer.id.clone()).or_insert(order.placed_at);
            *first = order.placed_at.min(*first);
            for line in &order.lines {
                *units_by_sku.entry(line.sku.clone()).or_default() += u64::from(line.quantity);
            }
        }
        Self {
            file,
            skipped_lines,
            orders: counted(orders.len()),
            lines: orders.iter().map(|order| order.lines.len()).sum(),
            units: orders.iter().map(Order::units).sum(),
            revenue_cents: orders.iter().map(|order| i128::from(order.revenue_cents())).sum(),
            units_by_sku,
            pairs: orders.iter().map(pairs).sum(),
            customers,
        }
    }
}

fn pairs(order: &Order) -> u64 {
    let products = counted(order.lines.iter().map(|line| &line.sku).collect::<BTreeSet<_>>().len());
    products * products.saturating_sub(1) / 2
}

fn counted(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
