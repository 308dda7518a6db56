//! Median and quartiles.

use serde::{Deserialize, Serialize};

/// Where the middle half of some values lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// How many values.
    pub(crate) n: usize,
    pub(crate) q1: f64,
    pub(crate) median: f64,
    pub(crate) q3: f64,
}

impl Spread {
    /// Of some values, of which those that are no number count for nothing; `None` when there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let at = |part| quantile(&values, part);
        Some(Self { n: values.len(), q1: at(0.25)?, median: at(0.5)?, q3: at(0.75)? })
    }
}

/// How long single operations took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) n: usize,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Latency {
    /// `None` when there are none.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let at = |part| quantile(&values, part);
        Some(Self { n: values.len(), p50: at(0.5)?, p95: at(0.95)?, p99: at(0.99)?, max: at(1.0)? })
    }
}

/// The value below which a part of the sorted values lies, between two of them in proportion.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(clippy::cast_precision_loss, reason = "fewer values than a float counts exactly")]
    let place = part.clamp(0.0, 1.0) * last as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the number of values")]
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_lies_between_two() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]).map(|spread| spread.median), Some(2.0));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).map(|spread| spread.median), Some(2.5));
        assert_eq!(Spread::of([7.0]), Some(Spread { n: 1, q1: 7.0, median: 7.0, q3: 7.0 }));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn quartiles_enclose_the_middle_half() {
        let spread = Spread::of((1..=9).map(f64::from));
        assert_eq!(spread, Some(Spread { n: 9, q1: 3.0, median: 5.0, q3: 7.0 }));
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        assert_eq!(Spread::of([f64::NAN, 1.0, f64::INFINITY]).map(|spread| (spread.n, spread.median)), Some((1, 1.0)));
    }

    #[test]
    fn latencies_are_known_by_their_quantiles() {
        let latency = Latency::of((0..=100).rev().map(f64::from).collect());
        assert_eq!(latency, Some(Latency { n: 101, p50: 50.0, p95: 95.0, p99: 99.0, max: 100.0 }));
        assert_eq!(Latency::of(Vec::new()), None);
    }

    #[test]
    fn the_ends_are_quantiles_too() {
        let sorted = [1.0, 2.0, 10.0];
        assert_eq!(quantile(&sorted, 0.0), Some(1.0));
        assert_eq!(quantile(&sorted, 1.0), Some(10.0));
        assert_eq!(quantile(&sorted, 2.0), Some(10.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
