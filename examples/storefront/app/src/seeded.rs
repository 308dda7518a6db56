//! Numbers that look random and are the same for the same seed, with every version of every library.

/// The generator splitmix64.
#[derive(Debug, Clone)]
pub struct Seeded(u64);

impl Seeded {
    /// A row of numbers of its own for each seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `end`, which is at least 1. A little uneven, which nobody here minds.
    pub fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.number() % u64::from(end)).unwrap_or(0)
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let place = self.below(u32::try_from(choices.len()).unwrap_or(u32::MAX));
        &choices[usize::try_from(place).unwrap_or(0)]
    }

    /// The next fraction, from 0 up to 1.
    pub fn fraction(&mut self) -> f64 {
        f64::from(self.below(1 << 24)) / f64::from(1 << 24)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_row_of_numbers() {
        let row = |seed| {
            let mut seeded = Seeded::new(seed);
            [seeded.number(), seeded.number(), seeded.number()]
        };
        assert_eq!(row(7), row(7));
        assert_ne!(row(7), row(8));
        // The published first number of the seed 0.
        assert_eq!(row(0)[0], 0xE220_A839_7B1D_CDAF);
    }
}
