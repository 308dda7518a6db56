//! A job for each handler of each message, and the messages that handlers publish.

use std::collections::{HashMap, HashSet};

use super::{Ending, Lives, Rule, Verdict};
use crate::history::{History, JobKey};
use crate::load::{FORWARDING, HANDLERS};

pub(super) fn check(history: &History, lives: &Lives, verdict: &mut Verdict) {
    let handlers: HashMap<&str, &[&str]> = HANDLERS.into_iter().collect();
    let mut expected: HashSet<JobKey> = HashSet::new();
    for message in &history.messages {
        for handler in handlers.get(&*message.kind).copied().unwrap_or_default() {
            let job = JobKey { handler: (*handler).into(), source: message.id };
            let rows = lives.0.get(&job).map_or(0, |life| life.rows);
            verdict.expect(Rule::OneJobEach, &job, rows == 1, || {
                format!("{} `{}` has {rows} jobs for {handler}", message.kind, message.label)
            });
            expected.insert(job);
        }
    }
    for job in lives.0.keys() {
        verdict.expect(Rule::OneJobEach, job, expected.contains(job), || "a job of no stored message".to_owned());
    }
    follow_ups(history, lives, verdict);
}

fn follow_ups(history: &History, lives: &Lives, verdict: &mut Verdict) {
    let (handler, published) = FORWARDING;
    let mut stored: HashMap<(&str, &str), u64> = HashMap::new();
    for message in &history.messages {
        *stored.entry((&message.kind, &message.label)).or_default() += 1;
    }
    let caused_by = HANDLERS.iter().find(|(_, handlers)| handlers.contains(&handler)).map_or("", |(kind, _)| kind);
    let mut explained = 0;
    for message in history.messages.iter().filter(|message| message.kind == caused_by) {
        let job = JobKey { handler: handler.into(), source: message.id };
        let succeeded = lives.0.get(&job).is_some_and(|life| matches!(life.ending, Ending::Succeeded(..)));
        for (kind, behind) in published {
            let times = stored.get(&(kind, &*format!("{}{behind}", message.label))).copied().unwrap_or(0);
            explained += times;
            verdict.expect(Rule::FollowUpsOnce, &job, times == u64::from(succeeded), || {
                format!("it published {kind} {times} times, and succeeded: {succeeded}")
            });
        }
    }
    let follows =
        |kind: &str, label: &str| published.iter().any(|(one, behind)| *one == kind && label.ends_with(behind));
    let all = history.messages.iter().filter(|message| follows(&message.kind, &message.label)).count();
    verdict.expect(Rule::FollowUpsOnce, None, u64::try_from(all).unwrap_or(0) == explained, || {
        format!("{all} messages of handlers, of which {explained} have a cause")
    });
}

#[cfg(test)]
mod tests {
    use crate::check::Rule;
    use crate::check::scene::Scene;

    #[test]
    fn a_missing_job_and_one_too_many_are_violations() {
        let mut scene = Scene::new();
        scene.forget_job("outside.confirm");
        assert!(scene.broken().contains(&Rule::OneJobEach));
        let mut scene = Scene::new();
        scene.another_job("outside.confirm");
        assert_eq!(scene.broken(), [Rule::OneJobEach]);
    }

    #[test]
    fn what_a_handler_publishes_twice_or_not_is_a_violation() {
        let mut scene = Scene::new();
        scene.forward();
        assert_eq!(scene.broken(), []);
        let last = scene.history.messages.pop().expect("what was forwarded");
        assert!(scene.broken().contains(&Rule::FollowUpsOnce), "one is missing");
        scene.history.messages.extend([last.clone(), last]);
        assert!(scene.broken().contains(&Rule::FollowUpsOnce), "one is there twice");
    }
}
