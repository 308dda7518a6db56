//! How the handler is to be run: what is said, checked.

use std::time::Duration;

use outbox_core::batch::MOST_IN_A_BATCH;
use outbox_core::subscriber::LOWEST_PRIORITY;
use proc_macro2::{Ident, Span};
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, Lit, LitInt, LitStr};

use crate::errors::Errors;
use crate::options::Key;
use crate::value::{self, MAX_INTEGER};

const BACKOFF: &str = "a backoff is `exponential(\"30s\", max = \"1h\")` or `fixed(\"10s\")`";

/// What the attribute says.
#[derive(Default)]
pub(crate) struct RunArgs {
    max_attempts: Option<LitInt>,
    backoff: Option<BackoffArgs>,
    timeout: Option<LitStr>,
    priority: Option<LitInt>,
    concurrency: Option<LitInt>,
    batch: Option<LitInt>,
    unknown: Option<Ident>,
}

/// `exponential("30s", max = "1h")` or `fixed("10s")`
enum BackoffArgs {
    Exponential { base: LitStr, max: LitStr },
    Fixed { every: LitStr },
}

impl RunArgs {
    /// One of its options, whose word `key` is.
    pub(crate) fn take(&mut self, key: &Key, input: ParseStream<'_>) -> syn::Result<()> {
        match key.word.as_str() {
            "max_attempts" => self.max_attempts = Some(key.value(input)?),
            "backoff" => self.backoff = Some(BackoffArgs::read(&key.value(input)?)?),
            "timeout" => self.timeout = Some(key.text(input)?),
            "priority" => self.priority = Some(key.value(input)?),
            "batch" => self.batch = Some(key.value(input)?),
            "unknown" => self.unknown = Some(unknown(&key.value(input)?)?),
            _ => self.concurrency = Some(key.value(input)?),
        }
        Ok(())
    }

    /// Those that say something of jobs, and where they are said.
    pub(crate) fn of_jobs(&self) -> [(&'static str, Option<Span>); 6] {
        [
            ("max_attempts", self.max_attempts.as_ref().map(LitInt::span)),
            ("backoff", self.backoff.as_ref().map(BackoffArgs::span)),
            ("priority", self.priority.as_ref().map(LitInt::span)),
            ("concurrency", self.concurrency.as_ref().map(LitInt::span)),
            ("batch", self.batch.as_ref().map(LitInt::span)),
            ("unknown", self.unknown.as_ref().map(Ident::span)),
        ]
    }
}

/// `park`, which is all there is to say.
fn unknown(said: &Expr) -> syn::Result<Ident> {
    let park = match said {
        Expr::Path(path) => path.path.get_ident().filter(|word| *word == "park"),
        _ => None,
    };
    park.cloned().ok_or_else(|| {
        let why = "what becomes of a job whose call was broken off is `park`: it waits for the answer of its effect's owner; left out, it is tried again";
        syn::Error::new_spanned(said, why)
    })
}

impl BackoffArgs {
    /// Where it is said.
    fn span(&self) -> Span {
        let (Self::Exponential { base: said, .. } | Self::Fixed { every: said }) = self;
        said.span()
    }

    fn read(said: &Expr) -> syn::Result<Self> {
        Self::of(said).ok_or_else(|| syn::Error::new_spanned(said, BACKOFF))
    }

    fn of(said: &Expr) -> Option<Self> {
        let Expr::Call(call) = said else { return None };
        let arguments: Vec<_> = call.args.iter().collect();
        match (word(&call.func)?.as_str(), arguments.as_slice()) {
            ("fixed", [every]) => Some(Self::Fixed { every: text(every)? }),
            ("exponential", [base, Expr::Assign(longest)]) if word(&longest.left)? == "max" => {
                Some(Self::Exponential { base: text(base)?, max: text(&longest.right)? })
            }
            _ => None,
        }
    }
}

fn word(said: &Expr) -> Option<String> {
    let Expr::Path(path) = said else { return None };
    path.path.get_ident().map(Ident::to_string)
}

fn text(said: &Expr) -> Option<LitStr> {
    match said {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// What is not said takes its default from `outbox_core::Settings::DEFAULT`.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) max_attempts: Option<u32>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) priority: Option<u8>,
    pub(crate) concurrency: Option<u32>,
    /// Most messages of one call, and where it is said.
    pub(crate) batch: Option<(u32, Span)>,
    /// Where it is said that what is unknown is parked.
    pub(crate) parks: Option<Span>,
}

pub(crate) enum Backoff {
    Exponential { base: Duration, max: Duration },
    Fixed { every: Duration },
}

pub(crate) fn check(args: &RunArgs, errors: &mut Errors) -> Settings {
    let max_attempts = args.max_attempts.as_ref().and_then(|said| {
        value::whole(said, 1..=MAX_INTEGER, "`max_attempts` counts executions, so it is at least 1", errors)
    });
    let concurrency = args.concurrency.as_ref().and_then(|said| {
        let why =
            "`concurrency` counts executions at once, so it is at least 1; to stop a handler, retire its subscription";
        value::whole(said, 1..=MAX_INTEGER, why, errors)
    });
    let batch = args.batch.as_ref().and_then(|said| {
        let why = format!("`batch` counts the messages of one call, so it is 1 to {MOST_IN_A_BATCH}");
        Some((value::whole(said, 1..=MOST_IN_A_BATCH, &why, errors)?, said.span()))
    });
    let priority = args.priority.as_ref().and_then(|said| {
        let why = format!("`priority` is 0 (runs first) to {LOWEST_PRIORITY} (runs last)");
        value::whole(said, 0..=u32::from(LOWEST_PRIORITY), &why, errors)
    });
    Settings {
        max_attempts,
        backoff: args.backoff.as_ref().and_then(|said| backoff(said, errors)),
        timeout: args.timeout.as_ref().and_then(|said| value::time(said, errors)),
        priority: priority.and_then(|priority| u8::try_from(priority).ok()),
        concurrency,
        batch,
        parks: args.unknown.as_ref().map(Ident::span),
    }
}

fn backoff(said: &BackoffArgs, errors: &mut Errors) -> Option<Backoff> {
    match said {
        BackoffArgs::Fixed { every } => value::time(every, errors).map(|every| Backoff::Fixed { every }),
        BackoffArgs::Exponential { base, max } => {
            let (first, longest) = (value::time(base, errors), value::time(max, errors));
            let (first, longest) = (first?, longest?);
            if longest < first {
                let text = format!("the longest delay is shorter than the first one, which is `{}`", base.value());
                errors.at(max.span(), text);
            }
            Some(Backoff::Exponential { base: first, max: longest })
        }
    }
}

#[cfg(test)]
mod tests {
    use outbox_core::duration;
    use proptest::prelude::*;

    use super::*;
    use crate::subscriber::parse::Args;

    /// What is read of an attribute's options, or all that is said against them.
    fn read(options: &str) -> Result<Settings, String> {
        let args = syn::parse_str::<Args>(options).map_err(|error| error.to_string())?;
        let mut errors = Errors::default();
        let settings = check(&args.run, &mut errors);
        if errors.any() { Err(errors.tokens().to_string()) } else { Ok(settings) }
    }

    fn times() -> impl Strategy<Value = String> {
        "[0-9]{1,6}(ms|s|m|h|d)|[0-9]{0,3} ?[a-z]{0,2}|36600d|36601d"
    }

    /// A unit behind a number is not passed over.
    #[test]
    fn a_number_stands_alone() {
        for said in ["max_attempts = 5m", "priority = 1u8", "concurrency = 2x"] {
            let error = read(said).err().unwrap_or_default();
            assert!(error.contains("without `"), "{said}: {error}");
        }
    }

    proptest! {
        /// A backoff is taken exactly when its times are durations and the longest is no shorter than the first; else the text is named, or that
        /// there is none.
        #[test]
        fn backoffs_are_read(base in times(), max in times()) {
            let read_fixed = read(&format!("backoff = fixed(\"{base}\")"));
            match (duration::parse(&base), read_fixed.map(|settings| settings.backoff)) {
                (Ok(said), Ok(Some(Backoff::Fixed { every }))) => prop_assert_eq!(every, said),
                (Err(_), Err(error)) => {
                    let is_blank = base.trim().is_empty();
                    let named = if is_blank { "a time is missing".to_owned() } else { format!("`{base}` is ") };
                    prop_assert!(error.contains(&named), "{}", error);
                }
                _ => prop_assert!(false, "{}", base),
            }
            let read_both = read(&format!("backoff = exponential(\"{base}\", max = \"{max}\")"));
            match (duration::parse(&base), duration::parse(&max), read_both.map(|settings| settings.backoff)) {
                (Ok(first), Ok(longest), Ok(Some(Backoff::Exponential { base, max }))) => {
                    prop_assert!((base, max) == (first, longest) && first <= longest);
                }
                (Ok(first), Ok(longest), Err(error)) => {
                    prop_assert!(longest < first && error.contains("shorter than the first one"), "{}", error);
                }
                (one, other, Err(_)) => prop_assert!(one.is_err() || other.is_err()),
                _ => prop_assert!(false, "{} {}", base, max),
            }
        }

        /// Numbers are taken within their bounds, and an error says the bounds.
        #[test]
        fn numbers_are_read(number in prop_oneof![0..12_u64, 2_147_483_640..2_147_483_660_u64, any::<u64>()]) {
            let within = |from: u64, to: u64| (from..=to).contains(&number).then_some(number);
            let attempts = read(&format!("max_attempts = {number}")).ok().and_then(|settings| settings.max_attempts);
            prop_assert_eq!(attempts.map(u64::from), within(1, i32::MAX as u64));
            let slots = read(&format!("concurrency = {number}")).ok().and_then(|settings| settings.concurrency);
            prop_assert_eq!(slots.map(u64::from), within(1, i32::MAX as u64));
            let priority = read(&format!("priority = {number}")).ok().and_then(|settings| settings.priority);
            prop_assert_eq!(priority.map(u64::from), within(0, u64::from(LOWEST_PRIORITY)));
        }

        /// Whatever stands in the attribute, it is read or refused.
        #[test]
        fn any_options_are_judged(text in "((event|job|name|backoff|max_attempts|priority|timeout|aliases|when|crate|x) ?(=|\\() ?(\"[0-9a-z.*\u{e9}]{0,5}\"|[0-9]{1,20}[a-z]?|fixed\\(|exponential\\(\"1s\"|a::b|-|r#x|\\))[,)]?){0,4}|.{0,60}") {
            let _ = read(&text);
        }
    }
}
