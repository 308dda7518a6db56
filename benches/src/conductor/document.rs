//! A run as JSON: `targets` by the keys of the table of targets, `works` with every cell.

use serde_json::{Map, Value, json};

use super::{Run, table};
use crate::measure::Measure;
use crate::stats::Spread;
use crate::targets::{Verdict, figures};

pub(super) fn of(run: &Run, verdicts: &[Verdict]) -> Value {
    json!({
        "server": run.server,
        "scale": run.scale,
        "pairs": run.pairs,
        "targets": targets(verdicts),
        "works": works(run),
    })
}

fn targets(verdicts: &[Verdict]) -> Map<String, Value> {
    let mut targets = Map::new();
    for verdict in verdicts {
        let lines = targets.entry(verdict.key).or_insert_with(|| json!([]));
        if let (Value::Array(lines), Ok(line)) = (lines, serde_json::to_value(verdict)) {
            lines.push(line);
        }
    }
    targets
}

fn works(run: &Run) -> Map<String, Value> {
    let work = |(work, cells): &(&'static crate::works::Work, Vec<crate::measure::Cell>)| {
        let side = |side: &str| {
            let spread =
                |measure| Spread::of(figures(cells, side, measure, work.unit).into_iter().map(|(_, figure)| figure));
            let figures = json!({
                "rate": spread(Measure::Rate),
                "p50_ms": spread(Measure::P50),
                "p95_ms": spread(Measure::P95),
                "p99_ms": spread(Measure::P99),
                "seconds": spread(Measure::Seconds),
                "later_p99": spread(Measure::Later),
                "wal_bytes": spread(Measure::Wal),
                "cpu_s_per_100k": spread(Measure::Cpu),
                "peak_mb": spread(Measure::PeakMb),
                "statements": spread(Measure::Statements),
                "pages": spread(Measure::Pages),
                "dead_tuples": spread(Measure::Dead),
                "table_mb": spread(Measure::TableMb),
            });
            (side.to_owned(), figures)
        };
        let sides: Map<String, Value> = table::sides(cells).into_iter().map(side).collect();
        let entry = json!({"what": work.what, "unit": work.unit.word(), "sides": sides, "cells": cells});
        (work.key.to_owned(), entry)
    };
    run.works.iter().map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::cell;
    use crate::works::chosen;

    #[test]
    fn a_document_has_every_target_of_the_works_that_were_done_and_every_cell() {
        let work = chosen(&["drain".to_owned()]).unwrap()[0];
        let cells = vec![cell("ours", 0, 900), cell("limit", 0, 1_000)];
        let run = Run { works: vec![(work, cells)], ..Run::default() };
        let document = of(&run, &run.verdicts());
        let mut keys: Vec<_> = document["targets"].as_object().unwrap().keys().collect();
        keys.sort();
        assert_eq!(keys, ["cpu_s", "drain", "wal_drain"]);
        let first = &document["targets"]["drain"][0];
        assert_eq!((first["against"].as_str(), first["met"].as_bool()), (Some("limit"), Some(true)));
        assert!((first["value"]["median"].as_f64().unwrap() - 0.9).abs() < 1e-9);
        let drain = &document["works"]["drain"];
        assert_eq!(drain["cells"].as_array().map(Vec::len), Some(2));
        assert_eq!(drain["cells"][1]["side"], "limit");
        assert_eq!(drain["cells"][1]["wal_bytes"], 1_000);
        assert_eq!(drain["sides"]["ours"]["rate"]["median"], 900.0);
    }
}
