//! Processes end by faults and when they are asked to.

use super::{Rule, Verdict};
use crate::history::History;

pub(super) fn check(history: &History, verdict: &mut Verdict) {
    for death in &history.deaths {
        verdict.expect(Rule::NodesEndByFaults, None, death.expected, || format!("{} ended: {}", death.node, death.how));
    }
}

#[cfg(test)]
mod tests {
    use crate::check::scene::Scene;
    use crate::check::{Rule, check};
    use crate::clock::Monotonic;
    use crate::history::Death;

    #[test]
    fn a_process_that_ends_by_itself_is_a_violation() {
        let mut scene = Scene::new();
        let death =
            |expected| Death { node: "worker-1.1".into(), at: Monotonic(1), how: "exit status: 101".into(), expected };
        scene.history.deaths.push(death(true));
        assert_eq!(scene.broken(), []);
        scene.history.deaths.push(death(false));
        assert_eq!(scene.broken(), [Rule::NodesEndByFaults]);
        assert!(check(&scene.history).violations[0].what.contains("101"));
    }
}
