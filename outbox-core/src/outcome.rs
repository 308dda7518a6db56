//! What a handler may return, and what the engine makes of it.

use std::error::Error;

use crate::batch::BatchOutcomes;
use crate::error_chain;
use crate::failure::{BoxError, Mark, Verdict};

/// What an execution came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The handler returned `Ok(())`.
    Done,
    /// The handler's `when` declined the event.
    Skipped,
    /// The handler returned an error.
    Failed {
        /// What is to become of the job.
        verdict: Verdict,
        /// The error's source chain, sanitised and bounded.
        error: String,
    },
}

impl Outcome {
    /// The outcome of an error: its verdict is the outermost one in its source chain.
    #[must_use]
    pub fn of_error(error: &BoxError) -> Self {
        let mut verdict = None;
        let mut texts = Vec::new();
        let mut next: Option<&(dyn Error + 'static)> = Some(error.as_ref());
        while let Some(link) = next {
            match link.downcast_ref::<Mark>() {
                Some(mark) => {
                    verdict.get_or_insert(mark.verdict);
                }
                None => texts.push(link.to_string()),
            }
            next = link.source();
        }
        Self::Failed { verdict: verdict.unwrap_or(Verdict::Retry), error: error_chain::join(texts) }
    }
}

/// What a handler may return: `Result<(), E>`, and one that takes a [`Batch`](crate::Batch) also an outcome for each of its messages, in
/// their order: `Vec<Result<(), E>>`, or `Result<Vec<Result<(), E>>, E>`.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "expected `Result<(), E>`",
    note = "`E` is any error type that is `Send + Sync`, `anyhow::Error` or `outbox::Failure`; to mix errors, write `-> outbox::HandlerResult`"
)]
pub trait IntoOutcome {
    /// Whether it says an outcome for each message of a batch.
    const EACH: bool = false;

    /// What the execution came to; in a batch, what those messages came to of which nothing else was said to `batch`.
    fn into_outcome(self, batch: Option<&BatchOutcomes>) -> Outcome;
}

/// What the error of a handler may be: anything that turns into a boxed error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a subscriber",
    label = "this error type is not `std::error::Error + Send + Sync`",
    note = "implement `std::error::Error` for `{Self}` (for example with `thiserror`), or use `anyhow::Error`, `outbox::Failure` or `outbox::HandlerResult`"
)]
pub trait HandlerError {
    /// The error, boxed.
    fn into_box(self) -> BoxError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>> HandlerError for E {
    fn into_box(self) -> BoxError {
        self.into()
    }
}

impl<E: HandlerError> IntoOutcome for Result<(), E> {
    fn into_outcome(self, _: Option<&BatchOutcomes>) -> Outcome {
        match self {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::of_error(&error.into_box()),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<E: HandlerError> IntoOutcome for Vec<Result<(), E>> {
    const EACH: bool = true;

    fn into_outcome(self, batch: Option<&BatchOutcomes>) -> Outcome {
        let each: Vec<_> = self.into_iter().map(|one| one.into_outcome(None)).collect();
        match batch {
            Some(batch) => batch.say_each(each),
            // Does not compile as a handler; by hand, the first that is no success.
            None => each.into_iter().find(|one| *one != Outcome::Done).unwrap_or(Outcome::Done),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<E: HandlerError, F: HandlerError> IntoOutcome for Result<Vec<Result<(), E>>, F> {
    const EACH: bool = true;

    fn into_outcome(self, batch: Option<&BatchOutcomes>) -> Outcome {
        match self {
            Ok(each) => each.into_outcome(batch),
            Err(error) => Outcome::of_error(&error.into_box()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::failure::{Failure, HandlerResult};

    #[derive(Debug, thiserror::Error)]
    enum Mine {
        #[error("gateway")]
        Gateway(#[source] Failure),
        #[error(transparent)]
        Plain(#[from] Failure),
        #[error("text only: {0}")]
        Lost(String),
    }

    fn verdict(result: impl IntoOutcome) -> Verdict {
        match result.into_outcome(None) {
            Outcome::Failed { verdict, .. } => verdict,
            other => panic!("{other:?} is no failure"),
        }
    }

    fn discard() -> Failure {
        Failure::discard(std::io::Error::other("card expired"))
    }

    /// S2-28: the class of an error survives `?`, context, `#[source]` and `transparent`.
    #[test]
    fn a_verdict_survives_wrapping() {
        assert_eq!(verdict(Err::<(), _>(discard())), Verdict::Discard);
        assert_eq!(verdict(Err::<(), BoxError>(discard().into())), Verdict::Discard);
        assert_eq!(verdict(Err::<(), anyhow::Error>(discard().into())), Verdict::Discard);
        assert_eq!(verdict(Err::<(), _>(anyhow::Error::from(discard()).context("charging"))), Verdict::Discard);
        assert_eq!(verdict(Err::<(), _>(Mine::Gateway(discard()))), Verdict::Discard);
        assert_eq!(
            verdict(Err::<(), _>(anyhow::Error::from(Mine::Plain(discard())).context("outer"))),
            Verdict::Discard
        );
        assert_eq!(verdict(Err::<(), _>(std::io::Error::other(discard()))), Verdict::Discard);
    }

    /// S2-72: so does that nobody knows what became of the effect, or a blind retry would follow from one `?` too many.
    #[test]
    fn an_unknown_outcome_survives_wrapping() {
        let lost = || Failure::outcome_unknown(std::io::Error::other("the answer to the charge was lost"));
        assert_eq!(
            verdict(Err::<(), _>(anyhow::Error::from(Mine::Gateway(lost())).context("charging"))),
            Verdict::Unknown
        );
        assert_eq!(verdict(Err::<(), _>(std::io::Error::other(Mine::Plain(lost())))), Verdict::Unknown);
        let charge = || -> HandlerResult {
            Err(lost())?;
            Ok(())
        };
        assert_eq!(verdict(charge()), Verdict::Unknown);
    }

    #[test]
    fn the_outermost_verdict_decides() {
        assert_eq!(verdict(Err::<(), _>(Failure::discard(Failure::retry("inner")))), Verdict::Discard);
        assert_eq!(verdict(Err::<(), _>(Failure::retry(Failure::discard("inner")))), Verdict::Retry);
    }

    #[test]
    fn an_error_that_decides_nothing_is_retried() {
        assert_eq!(verdict(Err::<(), _>("plain text".to_owned())), Verdict::Retry);
        assert_eq!(verdict(Err::<(), _>(Mine::Lost(discard().to_string()))), Verdict::Retry);
        let snooze = Failure::snooze(Duration::from_secs(3), "later");
        assert_eq!(verdict(Err::<(), _>(snooze)), Verdict::Snooze(Duration::from_secs(3)));
    }

    #[test]
    fn the_source_chain_is_kept_once_and_in_order() {
        let error = anyhow::Error::from(Mine::Gateway(discard())).context("charging");
        let Outcome::Failed { error, .. } = Err::<(), _>(error).into_outcome(None) else { panic!("no failure") };
        assert_eq!(error, "charging: gateway: card expired");
    }

    #[test]
    fn question_mark_mixes_errors() {
        fn mixed(n: u8) -> HandlerResult {
            match n {
                0 => Err(discard())?,
                1 => Err(std::io::Error::other("x"))?,
                2 => Err(anyhow::anyhow!("x"))?,
                3 => Err("text")?,
                _ => {}
            }
            Ok(())
        }
        let verdicts: Vec<_> = (0..4).map(|n| verdict(mixed(n))).collect();
        assert_eq!(verdicts, [Verdict::Discard, Verdict::Retry, Verdict::Retry, Verdict::Retry]);
        assert_eq!(mixed(9).into_outcome(None), Outcome::Done);
    }
}
