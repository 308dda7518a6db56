//! Effects against what became of their jobs.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Ending, Lives, Rule, Verdict};
use crate::history::{History, JobKey};
use crate::load::{COUNTED, TRANSACTIONAL};

pub(super) fn check(history: &History, lives: &Lives, verdict: &mut Verdict) {
    let mut effects: HashMap<&JobKey, Vec<Uuid>> = HashMap::new();
    for effect in &history.effects {
        effects.entry(&effect.job).or_default().push(effect.claim);
    }
    for (job, life) in &lives.0 {
        if TRANSACTIONAL.contains(&&*job.handler) {
            let claims = effects.remove(job).unwrap_or_default();
            let succeeded = matches!(life.ending, Ending::Succeeded(..));
            verdict.expect(Rule::EffectOnce, job, claims.len() == usize::from(succeeded), || {
                format!("its effect is there {} times, and it ended: {:?}", claims.len(), life.ending)
            });
            // A reason says that another execution than the one that settled had it, or none was needed.
            if let (Ending::Succeeded(settled, None), [claim]) = (&life.ending, &claims[..]) {
                verdict.expect(Rule::EffectOfItsClaim, job, *settled == Some(*claim), || {
                    format!("its effect is of the claim {claim}, and {settled:?} settled it")
                });
            }
        }
        if COUNTED.contains(&&*job.handler) && matches!(life.ending, Ending::Succeeded(..)) {
            let times = history.counted.get(job).copied().unwrap_or(0);
            verdict.expect(Rule::AtLeastOnce, job, times > 0, || "its count is not there".to_owned());
        }
    }
    for (job, claims) in effects {
        verdict.expect(Rule::EffectOnce, job, false, || format!("{} effects of a job that is not there", claims.len()));
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use crate::check::Rule;
    use crate::check::scene::Scene;
    use crate::history::Effect;

    #[test]
    fn an_effect_that_is_there_twice_is_a_violation() {
        let mut scene = Scene::new();
        let effect = scene.history.effects[0].clone();
        scene.history.effects.push(effect);
        assert_eq!(scene.broken(), [Rule::EffectOnce]);
    }

    #[test]
    fn an_effect_that_is_not_there_is_a_violation() {
        let mut scene = Scene::new();
        scene.history.effects.clear();
        assert_eq!(scene.broken(), [Rule::EffectOnce]);
    }

    #[test]
    fn an_effect_of_a_stale_claim_is_a_violation() {
        let mut scene = Scene::new();
        scene.history.effects[0].claim = Uuid::from_u128(99);
        assert_eq!(scene.broken(), [Rule::EffectOfItsClaim]);
    }

    #[test]
    fn an_effect_of_no_job_is_a_violation() {
        let mut scene = Scene::new();
        let mut job = scene.history.effects[0].job.clone();
        job.source = Uuid::from_u128(99);
        scene.history.effects.push(Effect { job, claim: Uuid::from_u128(1) });
        assert_eq!(scene.broken(), [Rule::EffectOnce]);
    }

    #[test]
    fn a_count_that_is_not_there_is_a_violation() {
        let mut scene = Scene::new();
        scene.forward();
        scene.history.counted.clear();
        assert_eq!(scene.broken(), [Rule::AtLeastOnce]);
    }
}
