//! How the jobs of one claim are shared among handlers that all have a backlog. Arithmetic, without a clock or a database.

/// A handler's share of a claim that is worth entering its range for, where there are more backlogs than one claim holds.
const SHARE: u32 = 100;

/// Whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// The first of those with a backlog to have a share of the next claim.
    first: usize,
}

impl Shares {
    /// From what each handler has room for to what it is asked for, of `most` in all. Handlers with a backlog share evenly, and what one
    /// has no room for is the others': the claim locks whatever it asks for, before it takes `most` of it.
    pub(crate) fn divide(&mut self, limits: &mut [u32], backlog: &[bool], most: u32) {
        let mut sharers = self.sharers(limits, backlog, most);
        sharers.sort_by_key(|handler| limits[*handler]);
        let (mut left, mut others) = (most, u32::try_from(sharers.len()).unwrap_or(u32::MAX));
        for handler in sharers {
            limits[handler] = limits[handler].min(left.div_ceil(others));
            left -= limits[handler];
            others -= 1;
        }
    }

    /// Which handlers with a backlog share this claim: as many as get a share that is worth its range, in turns; the others wait for
    /// the next one. Entering a range costs the same for one job as for a hundred, and more where other workers' running jobs stand at
    /// its head.
    fn sharers(&mut self, limits: &mut [u32], backlog: &[bool], most: u32) -> Vec<usize> {
        let (mut sharers, mut left, first) = (Vec::new(), most, self.first);
        for place in 0..limits.len() {
            let handler = (place + first) % limits.len();
            if !backlog[handler] || limits[handler] == 0 {
                continue;
            }
            if left == 0 {
                limits[handler] = 0;
                continue;
            }
            left = left.saturating_sub(limits[handler].min(SHARE));
            sharers.push(handler);
            self.first = (handler + 1) % limits.len();
        }
        sharers
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// S0-29: whatever there is room for: nobody is asked for more than that, all together for no more than the claim brings, which is
        /// used up where there is enough; who has no backlog is left alone; and each backlog has its share within as many claims as there
        /// are handlers.
        #[test]
        fn a_claim_is_used_up_and_nobody_waits_for_ever(
            handlers in prop::collection::vec((0..300_u32, any::<bool>()), 1..12),
            most in 1..600_u32,
        ) {
            let (room, backlog): (Vec<_>, Vec<_>) = handlers.into_iter().map(|(room, backlog)| (room.min(most), backlog)).unzip();
            let mut shares = Shares::default();
            let mut served = vec![false; room.len()];
            for _ in 0..room.len() {
                let mut limits = room.clone();
                shares.divide(&mut limits, &backlog, most);
                let of_sharers = |limits: &[u32]| -> u32 { (0..limits.len()).filter(|one| backlog[*one]).map(|one| limits[one]).sum() };
                prop_assert!(of_sharers(&limits) <= most);
                prop_assert_eq!(of_sharers(&limits), of_sharers(&room).min(most));
                for handler in 0..limits.len() {
                    prop_assert!(limits[handler] <= room[handler]);
                    prop_assert!(backlog[handler] || limits[handler] == room[handler]);
                    served[handler] |= limits[handler] > 0;
                }
            }
            for handler in 0..room.len() {
                prop_assert!(served[handler] || room[handler] == 0, "{} of {:?}", handler, room);
            }
        }
    }
}
