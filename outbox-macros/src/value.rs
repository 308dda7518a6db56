//! Numbers and durations as they are written in attributes.

use std::ops::RangeInclusive;
use std::time::Duration;

use outbox_core::duration;
use syn::{LitInt, LitStr};

use crate::errors::Errors;

/// The largest number that the database's `integer` holds.
pub(crate) const MAX_INTEGER: u32 = i32::MAX as u32;

/// A whole number within `range`; `why` says what it counts.
pub(crate) fn whole(said: &LitInt, range: RangeInclusive<u32>, why: &str, errors: &mut Errors) -> Option<u32> {
    if !said.suffix().is_empty() {
        errors.at(said.span(), format!("write `{}`, without `{}` behind it", said.base10_digits(), said.suffix()));
        return None;
    }
    let number = said.base10_parse().ok().filter(|number| range.contains(number));
    if number.is_none() {
        errors.at(said.span(), why);
    }
    number
}

/// A duration such as `"30s"`.
pub(crate) fn time(said: &LitStr, errors: &mut Errors) -> Option<Duration> {
    let text = said.value();
    if text.trim().is_empty() {
        errors.at(said.span(), format!("a time is missing between the quotes: write {}", duration::FORM));
        return None;
    }
    duration::parse(&text).map_err(|why| errors.at(said.span(), format!("`{text}` {why}"))).ok()
}
