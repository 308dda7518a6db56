//! Money, in whole cents, and discounts without rounding errors.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The whole, in hundredths of a percent.
const WHOLE: u16 = 10_000;

/// A part of a price that is not charged, from 0 to 1, with four decimal places at most.
///
/// It is read from the text of the JSON number: a binary fraction is never quite 0.15, and half a cent decides which way
/// a price is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Discount(u16);

/// Why a number is no discount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a discount is a number from 0 to 1 with at most four decimal places, as 0.15")]
pub struct InvalidDiscount;

impl Discount {
    /// A discount of so many hundredths of a percent: 1,500 is 15 %.
    ///
    /// # Errors
    /// When it is more than the whole price.
    pub fn from_basis_points(points: u16) -> Result<Self, InvalidDiscount> {
        if points <= WHOLE { Ok(Self(points)) } else { Err(InvalidDiscount) }
    }

    /// In hundredths of a percent.
    #[must_use]
    pub fn basis_points(self) -> u16 {
        self.0
    }

    /// Reads a JSON number, exactly.
    ///
    /// # Errors
    /// When it is none, or not from 0 to 1, or more precise than four decimal places.
    pub fn from_json(text: &str) -> Result<Self, InvalidDiscount> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().map_err(|_| InvalidDiscount)?;
        let mantissa = mantissa.strip_prefix('-').filter(|rest| is_zero(rest)).unwrap_or(mantissa);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(InvalidDiscount);
        }
        let places = i64::try_from(fraction.len()).map_err(|_| InvalidDiscount)?;
        // The number is digits x 10^shift basis points.
        let shift = exponent.saturating_sub(places).saturating_add(4);
        shifted(digits.trim_start_matches('0'), shift).ok_or(InvalidDiscount).and_then(Self::from_basis_points)
    }
}

fn is_zero(mantissa: &str) -> bool {
    mantissa.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

/// `digits` x 10^`shift`, when that is a whole number that a discount can be.
fn shifted(digits: &str, shift: i64) -> Option<u16> {
    if digits.is_empty() {
        return Some(0);
    }
    if shift >= 0 {
        let factor = 10_u16.checked_pow(u32::try_from(shift).ok()?)?;
        return digits.parse::<u16>().ok()?.checked_mul(factor);
    }
    let cut = usize::try_from(shift.unsigned_abs()).ok()?;
    let kept = digits.len().checked_sub(cut)?;
    let (kept, gone) = digits.split_at(kept);
    let exact = gone.bytes().all(|digit| digit == b'0');
    if exact && !kept.is_empty() { kept.parse().ok() } else { None }
}

impl<'de> Deserialize<'de> for Discount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(raw.get()).map_err(D::Error::custom)
    }
}

impl fmt::Display for Discount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02} %", self.0 / 100, self.0 % 100)
    }
}

/// quantity x unit price x (1 - discount), to the nearest cent, half a cent up. What [`read_orders`](crate::read_orders)
/// accepts is far from the end of the range.
#[must_use]
pub fn revenue_cents(quantity: u32, unit_price_cents: u32, discount: Discount) -> i64 {
    let full = u128::from(quantity) * u128::from(unit_price_cents);
    let charged = full * u128::from(WHOLE - discount.basis_points());
    let rounded = (charged + u128::from(WHOLE / 2)) / u128::from(WHOLE);
    i64::try_from(rounded).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(text: &str) -> Option<u16> {
        Discount::from_json(text).ok().map(Discount::basis_points)
    }

    #[test]
    fn discounts_are_read_exactly() {
        for (text, expected) in [
            ("0", 0),
            ("0.0", 0),
            ("-0.0", 0),
            ("0e999999999", 0),
            ("0.05", 500),
            ("0.15", 1_500),
            ("0.1500000", 1_500),
            ("1.5e-1", 1_500),
            ("15E-2", 1_500),
            ("0.0001", 1),
            ("1", 10_000),
            ("1.0000", 10_000),
            ("0.1e+1", 10_000),
        ] {
            assert_eq!(points(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_discount_is_refused() {
        for text in [
            "",
            "-0.1",
            "1.0001",
            "0.00001",
            "0.15000000000000000001",
            "2",
            "1e9",
            "1e99999999999999999999",
            "1e-99999999",
            "null",
            "\"0.1\"",
            "[]",
            "--0",
            ".",
            "e",
            "\u{663}",
        ] {
            assert_eq!(points(text), None, "{text}");
        }
    }

    /// 50 x 1.01 less 15 % is 42.925 exactly.
    #[test]
    fn half_a_cent_is_rounded_up() {
        let fifteen = Discount::from_json("0.15").expect("a discount");
        assert_eq!(revenue_cents(50, 101, fifteen), 4_293);
        assert_eq!(revenue_cents(1, 10, Discount::from_json("0.05").expect("a discount")), 10);
    }

    proptest! {
        /// Whatever the text is, it is judged without a panic.
        #[test]
        fn any_text_is_judged(text in "[-+0-9.eE]{0,30}|.{0,20}") {
            let _ = Discount::from_json(&text);
        }

        /// Every discount is read back from its own decimal form.
        #[test]
        fn every_discount_has_its_text(points in 0..=10_000_u16) {
            let text = format!("{}.{:04}", points / 10_000, points % 10_000);
            prop_assert_eq!(Discount::from_json(&text).map(Discount::basis_points), Ok(points));
        }

        /// Rounded is within half a cent of exact, and the upper neighbour at exactly half.
        #[test]
        fn rounding_is_to_the_nearest(quantity in 1..1_000_000_u32, price in 0..1_000_000_u32, points in 0..=10_000_u16) {
            let discount = Discount::from_basis_points(points).expect("in range");
            let exact = i128::from(quantity) * i128::from(price) * i128::from(10_000 - points);
            let distance = i128::from(revenue_cents(quantity, price, discount)) * 10_000 - exact;
            prop_assert!((-4_999..=5_000).contains(&distance));
        }
    }
}
