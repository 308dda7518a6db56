//! What was measured: both rates of each round and their ratio, and the middle of the ratios.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    server: String,
    events: u32,
    rounds: Vec<Round>,
}

/// Messages a second of both sides, in turns.
#[derive(Debug, Serialize)]
pub(crate) struct Round {
    broker: &'static str,
    memory_per_second: f64,
    relay_per_second: f64,
    ratio: f64,
}

/// What the relay is to reach of what the client does from memory.
const BOUND: f64 = 0.5;

impl Round {
    /// Of the seconds that each side took.
    pub(crate) fn of(broker: &'static str, events: u32, memory: f64, relay: f64) -> Self {
        let events = f64::from(events);
        Self { broker, memory_per_second: events / memory, relay_per_second: events / relay, ratio: memory / relay }
    }
}

impl Report {
    pub(crate) fn new(server: &str, events: u32) -> Self {
        Self { server: server.to_owned(), events, rounds: Vec::new() }
    }

    pub(crate) fn add(&mut self, round: Round) {
        let Round { broker, memory_per_second, relay_per_second, ratio } = &round;
        println!(
            "{broker:>9}  from memory {memory_per_second:>8.0}/s  relayed {relay_per_second:>8.0}/s  ratio {ratio:.2}"
        );
        self.rounds.push(round);
    }

    /// The middle of a broker's rounds.
    pub(crate) fn print(&self, broker: &str) {
        let of = |figure: fn(&Round) -> f64| {
            median(self.rounds.iter().filter(|round| round.broker == broker).map(figure).collect())
        };
        let (memory, relay, ratio) =
            (of(|round| round.memory_per_second), of(|round| round.relay_per_second), of(|round| round.ratio));
        let verdict = if ratio >= BOUND { "met" } else { "MISSED" };
        println!(
            "{broker:>9}  median: from memory {memory:.0}/s, relayed {relay:.0}/s, ratio {ratio:.2} (>= {BOUND}: {verdict})"
        );
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.as_slice() {
        [] => f64::NAN,
        values if values.len() % 2 == 1 => values[middle],
        values => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_lies_between_two() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_ratio_is_of_rates() {
        let round = Round::of("nats", 100, 1.0, 2.0);
        assert!((round.ratio - 0.5).abs() < f64::EPSILON);
        assert!((round.relay_per_second - 50.0).abs() < f64::EPSILON);
    }
}
