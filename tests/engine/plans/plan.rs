//! A plan that has run, as `explain (analyze, buffers, format json)` tells of it.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

pub struct Plan(Value);

impl Plan {
    /// From the text that the server answers.
    pub fn of(text: &str) -> Self {
        let mut whole: Value = serde_json::from_str(text).unwrap();
        Self(whole[0]["Plan"].take())
    }

    fn nodes(&self) -> Vec<&Value> {
        let mut nodes = vec![&self.0];
        let mut next = 0;
        while next < nodes.len() {
            nodes.extend(nodes[next]["Plans"].as_array().into_iter().flatten());
            next += 1;
        }
        nodes
    }

    /// The scans of a table, or of its partitions.
    fn scans(&self, table: &str) -> impl Iterator<Item = &Value> {
        let is_of = move |node: &&Value| {
            // A bitmap's heap scan and its index scan are two nodes for the same rows; only the first names the table.
            let named = node["Relation Name"].as_str().is_some_and(|name| name.starts_with(table));
            named && node["Node Type"].as_str().is_some_and(|kind| kind.ends_with("Scan"))
        };
        self.nodes().into_iter().filter(is_of)
    }

    /// Rows of a table that were read, whether they were of use or not, each time that they were.
    pub fn read(&self, table: &str) -> u64 {
        self.scans(table).map(rows_read).sum()
    }

    /// How often a table was read from end to end.
    pub fn whole(&self, table: &str) -> u64 {
        let whole = self.scans(table).filter(|node| node["Node Type"] == "Seq Scan");
        // Processes that share one scan are counted as loops of it.
        whole.map(|node| if node["Parallel Aware"] == true { 1 } else { number(&node["Actual Loops"]) }).sum()
    }

    /// How often a table was looked into.
    pub fn times(&self, table: &str) -> u64 {
        self.scans(table).map(|node| number(&node["Actual Loops"])).sum()
    }

    /// The indexes of a table that were used.
    pub fn indexes(&self, table: &str) -> BTreeSet<&str> {
        let used = self.nodes().into_iter().filter(|node| number(&node["Actual Loops"]) > 0);
        used.filter_map(|node| node["Index Name"].as_str()).filter(|name| name.starts_with(table)).collect()
    }

    /// Most rows that one sort, or one hash table, took in.
    pub fn gathered(&self) -> u64 {
        let nodes = self.nodes().into_iter();
        let gathers = nodes
            .filter(|node| node["Node Type"].as_str().is_some_and(|kind| kind.ends_with("Sort") || kind == "Hash"));
        let inputs = gathers.flat_map(|node| node["Plans"].as_array().into_iter().flatten());
        // Other children are queries that are answered beforehand.
        inputs.filter(|child| child["Parent Relationship"] == "Outer").map(rows).max().unwrap_or(0)
    }

    /// Pages that were touched, in memory or not.
    pub fn pages(&self) -> u64 {
        number(&self.0["Shared Hit Blocks"]) + number(&self.0["Shared Read Blocks"])
    }

    /// Rows that it answered.
    pub fn answered(&self) -> u64 {
        number(&self.0["Actual Rows"])
    }
}

/// The server tells means over the loops.
fn total(node: &Value, keys: &[&str]) -> u64 {
    let mean: f64 = keys.iter().filter_map(|key| node[*key].as_f64()).sum();
    rounded(mean * node["Actual Loops"].as_f64().unwrap_or(0.0))
}

fn rows(node: &Value) -> u64 {
    total(node, &["Actual Rows"])
}

fn rows_read(node: &Value) -> u64 {
    total(node, &["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"])
}

fn number(value: &Value) -> u64 {
    rounded(value.as_f64().unwrap_or(0.0))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
fn rounded(count: f64) -> u64 {
    count.round() as u64
}

/// The nodes that ran, a line each.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn tree(node: &Value, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            if number(&node["Actual Loops"]) == 0 {
                return Ok(());
            }
            let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
            let of = [text("Relation Name"), text("Index Name"), text("CTE Name"), text("Subplan Name")];
            let of: Vec<_> = of.into_iter().filter(|name| !name.is_empty()).collect();
            let kind = [text("Operation"), text("Node Type")].into_iter().filter(|one| !one.is_empty());
            writeln!(
                f,
                "{:depth$}{} {}: {} rows, {} read, {} times, {} pages",
                "",
                kind.collect::<Vec<_>>().join(" "),
                of.join(" "),
                rows(node),
                rows_read(node),
                number(&node["Actual Loops"]),
                number(&node["Shared Hit Blocks"]) + number(&node["Shared Read Blocks"]),
            )?;
            node["Plans"].as_array().into_iter().flatten().try_for_each(|child| tree(child, depth + 2, f))
        }
        tree(&self.0, 2, f)
    }
}
