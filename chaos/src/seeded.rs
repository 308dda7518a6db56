//! Numbers that look random and are the same for the same seed, with every version of every library: a stream of `ChaCha`
//! words, and three ways to use one.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// A row of numbers.
#[derive(Clone, Debug)]
pub struct Seeded(ChaCha8Rng);

impl Seeded {
    /// The row of this seed and purpose; each purpose has a row of its own.
    #[must_use]
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mut key = [0_u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        for (place, byte) in purpose.bytes().enumerate() {
            // Purposes are short; what is longer than the key is folded into it.
            key[8 + place % 24] ^= byte.rotate_left(u32::try_from(place / 24).unwrap_or(0));
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// A number below `end`; 0 when there is none. A little uneven, which nobody here minds.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end.max(1)
    }

    /// A small number below `end`.
    pub fn below32(&mut self, end: u32) -> u32 {
        u32::try_from(self.below(u64::from(end))).unwrap_or(0)
    }

    /// Whether something happens that happens `n` times in a hundred.
    pub fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    /// A time from `least` up to `most`, in whole milliseconds.
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let spread = u64::try_from(most.saturating_sub(least).as_millis()).unwrap_or(u64::MAX);
        least + Duration::from_millis(self.below(spread.saturating_add(1)))
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let place = self.below(u64::try_from(choices.len()).unwrap_or(u64::MAX));
        &choices[usize::try_from(place).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_purpose_are_a_row_of_numbers() {
        let row = |seed, purpose| {
            let mut seeded = Seeded::new(seed, purpose);
            [seeded.below(1 << 40), seeded.below(1 << 40), seeded.below(1 << 40)]
        };
        assert_eq!(row(7, "plan"), row(7, "plan"));
        assert_ne!(row(7, "plan"), row(8, "plan"));
        assert_ne!(row(7, "plan"), row(7, "load"));
    }
}
