//! How the jobs of one claim are shared among handlers that all have a backlog. Arithmetic, without a clock or a database.

/// A handler's share of a claim that is worth entering its range for, where there are more backlogs than one claim holds.
const SHARE: u32 = 100;

/// How far one handler may come before another that has a backlog too, in jobs, before that is forgotten.
const FURTHEST: u32 = 1_000;

/// Whose turn it is, and who has had more than others.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// The first of those with a backlog to have a share of the next claim.
    first: usize,
    /// How many jobs further each handler is than the one that is furthest behind.
    leads: Vec<u32>,
}

impl Shares {
    /// From what each handler has room for to what it is asked for, of `most` in all. What one has no room for is the others': the claim
    /// locks whatever it asks for, before it takes `most` of it.
    ///
    /// Handlers with a backlog are brought to the same level, so that subscribers of one event come to it in the same claim and share its
    /// message; evenly divided, one that was alone in a claim would stay before the others for good. A remainder is nobody's, or it would
    /// part them.
    pub(crate) fn divide(&mut self, limits: &mut [u32], backlog: &[bool], most: u32) {
        self.leads.resize(limits.len(), 0);
        let sharers = self.sharers(limits, backlog, most);
        let level = self.level(limits, &sharers, most);
        for handler in sharers {
            limits[handler] = self.up_to(level, handler, limits[handler]);
        }
        self.note(limits, backlog);
    }

    /// How many jobs bring a handler to this level, with room for so many.
    fn up_to(&self, level: u32, handler: usize, room: u32) -> u32 {
        level.saturating_sub(self.leads[handler]).min(room)
    }

    /// The highest level to which `most` jobs bring all of these.
    fn level(&self, limits: &[u32], sharers: &[usize], most: u32) -> u32 {
        let asked = |level| sharers.iter().map(|one| u64::from(self.up_to(level, *one, limits[*one]))).sum::<u64>();
        // At the upper end nothing but their room limits them.
        let (mut level, mut above) = (0, most.saturating_add(FURTHEST).saturating_add(1));
        while above - level > 1 {
            let between = level + (above - level) / 2;
            if asked(between) <= u64::from(most) { level = between } else { above = between }
        }
        level
    }

    /// Who is how far before the others now. One without a backlog has all that there is, and goes with the foremost.
    fn note(&mut self, limits: &[u32], backlog: &[bool]) {
        for handler in (0..limits.len()).filter(|one| backlog[*one]) {
            self.leads[handler] = self.leads[handler].saturating_add(limits[handler]);
        }
        let leads = || (0..limits.len()).filter(|one| backlog[*one]).map(|one| self.leads[one]);
        let (foremost, hindmost) = (leads().max().unwrap_or(0), leads().min().unwrap_or(0));
        let start = hindmost.max(foremost.saturating_sub(FURTHEST));
        for (lead, backlog) in self.leads.iter_mut().zip(backlog) {
            *lead = if *backlog { lead.saturating_sub(start) } else { foremost - start };
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
                // But for a remainder, of which there is less than a job a handler.
                prop_assert!(of_sharers(&limits) + 12 > of_sharers(&room).min(most));
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

    /// Subscribers of one event that have a backlog stay at the same events, whatever a claim has room for; and one that was alone in
    /// a claim is waited for.
    #[test]
    fn handlers_with_a_backlog_keep_in_step() {
        let (mut shares, backlog) = (Shares::default(), [true; 5]);
        let mut had = [0; 5];
        let mut claim = |room: [u32; 5], most| {
            let mut limits = room;
            shares.divide(&mut limits, &backlog, most);
            (0..5).for_each(|one| had[one] += limits[one]);
            (limits, had)
        };
        for most in 451..500 {
            assert_eq!(claim([most; 5], most).0, [most / 5; 5], "of {most}");
        }
        assert_eq!(claim([0, 0, 0, 500, 0], 500).0, [0, 0, 0, 500, 0], "only one has room");
        assert_eq!(claim([500; 5], 500).0, [125, 125, 125, 0, 125]);
        let had = (0..5).map(|_| claim([500; 5], 500).1).last().unwrap();
        assert_eq!(had, [had[0]; 5]);
    }

    /// S0-29: one that has no room for long is not made up for it without end.
    #[test]
    fn a_lead_is_forgotten_beyond_a_limit() {
        let mut shares = Shares::default();
        for _ in 0..100 {
            shares.divide(&mut [0, 500], &[true; 2], 500);
        }
        let mut without = 0;
        while {
            let mut limits = [500, 500];
            shares.divide(&mut limits, &[true; 2], 500);
            limits[1] == 0
        } {
            without += 1;
        }
        assert_eq!(without, 2);
    }
}
