//! How many executions run at once in a process: in all, by module and by handler.
//!
//! A handler that is slow fills its own slots and no other's, so one handler does not delay another (S0-29).

use crate::transition::Risk;

/// The limits of one handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Which module it belongs to, by number.
    pub module: usize,
    /// Most executions of it at once.
    pub concurrency: u32,
}

/// The slots of a process. Handlers and modules are numbered from 0.
#[derive(Debug)]
pub struct Slots {
    free: u32,
    modules: Vec<u32>,
    handlers: Vec<(usize, u32)>,
    most: Vec<u32>,
    crashed_runs: bool,
}

impl Slots {
    /// All free: `total` in the process, `modules[m]` in module m, `handlers[h].concurrency` for handler h.
    ///
    /// # Panics
    /// When a handler names a module that `modules` does not have.
    #[must_use]
    pub fn new(total: u32, modules: &[u32], handlers: &[Limit]) -> Self {
        assert!(handlers.iter().all(|handler| handler.module < modules.len()), "each handler's module has a limit");
        let most = handlers.iter().map(|handler| handler.concurrency.min(modules[handler.module]).min(total)).collect();
        let handlers = handlers.iter().map(|handler| (handler.module, handler.concurrency)).collect();
        Self { free: total, modules: modules.to_vec(), handlers, most, crashed_runs: false }
    }

    /// Most executions of handler `handler` at once, were it alone.
    #[must_use]
    pub fn most_for(&self, handler: usize) -> u32 {
        self.most[handler]
    }

    /// Free slots in the process.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Slots that handler `handler` could take now.
    #[must_use]
    pub fn free_for(&self, handler: usize) -> u32 {
        let (module, own) = self.handlers[handler];
        own.min(self.modules[module]).min(self.free)
    }

    /// The module of a handler, by number, and that module's free slots.
    #[must_use]
    pub fn module_of(&self, handler: usize) -> (usize, u32) {
        let (module, _) = self.handlers[handler];
        (module, self.modules[module])
    }

    /// Whether a job that has to run alone of its kind may start now.
    #[must_use]
    pub fn free_for_crashed(&self) -> bool {
        !self.crashed_runs && self.free > 0
    }

    /// Takes a slot; `false` when there is none for this handler and risk.
    #[must_use]
    pub fn take(&mut self, handler: usize, risk: Risk) -> bool {
        let crashed = risk == Risk::Alone;
        if self.free_for(handler) == 0 || (crashed && self.crashed_runs) {
            return false;
        }
        let (module, own) = &mut self.handlers[handler];
        self.modules[*module] -= 1;
        *own -= 1;
        self.free -= 1;
        self.crashed_runs |= crashed;
        true
    }

    /// Gives back a slot that was taken.
    pub fn give(&mut self, handler: usize, risk: Risk) {
        let (module, own) = &mut self.handlers[handler];
        self.modules[*module] += 1;
        *own += 1;
        self.free += 1;
        self.crashed_runs &= risk != Risk::Alone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// S0-29: a handler that holds all its slots leaves the others' alone.
    #[test]
    fn a_full_handler_leaves_room_for_others() {
        let mut slots =
            Slots::new(4, &[4, 4], &[Limit { module: 0, concurrency: 2 }, Limit { module: 1, concurrency: 4 }]);
        assert!(slots.take(0, Risk::None) && slots.take(0, Risk::None));
        assert!(!slots.take(0, Risk::None));
        assert_eq!(slots.free_for(1), 2);
    }

    #[test]
    fn crashed_jobs_run_one_at_a_time() {
        let mut slots = Slots::new(4, &[4], &[Limit { module: 0, concurrency: 4 }]);
        assert!(slots.take(0, Risk::Alone));
        assert!(!slots.free_for_crashed() && !slots.take(0, Risk::Alone));
        assert!(slots.take(0, Risk::Exposed));
        slots.give(0, Risk::Alone);
        assert!(slots.take(0, Risk::Alone));
    }

    proptest! {
        /// S2-48: never more at once than any limit allows, and every slot comes back.
        #[test]
        fn limits_hold_and_slots_come_back(total in 1..6_u32, module in 1..6_u32, own in 1..6_u32, steps in proptest::collection::vec(any::<bool>(), 0..60)) {
            let mut slots = Slots::new(total, &[module], &[Limit { module: 0, concurrency: own }]);
            let most = total.min(module).min(own);
            let mut running = 0;
            for take in steps {
                if take {
                    prop_assert_eq!(slots.take(0, Risk::None), running < most);
                    running = (running + 1).min(most);
                } else if running > 0 {
                    slots.give(0, Risk::None);
                    running -= 1;
                }
                prop_assert_eq!(slots.free_for(0), most - running);
            }
        }
    }
}
