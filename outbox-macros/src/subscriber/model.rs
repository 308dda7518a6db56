//! A handler whose attribute and signature were checked. What depends on types is checked by the code that `expand`
//! writes; here is all that tokens can tell.

use proc_macro2::Span;
use syn::{LitInt, LitStr, Path, Type};

use crate::errors::Errors;
use crate::name;
use crate::paths::Facade;
use crate::subscriber::function::Function;
use crate::subscriber::parse::{Args, BackoffArgs};
use crate::subscriber::settings::{self, Settings};
use crate::subscriber::signature::{self, Parameters};
use crate::value;

pub(crate) struct Subscriber {
    pub(crate) facade: Facade,
    pub(crate) source: Source,
    /// `None`: the module and the function make it.
    pub(crate) name: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) version: Version,
    pub(crate) in_transaction: bool,
    pub(crate) idempotent: Option<LitStr>,
    pub(crate) settings: Settings,
    pub(crate) when: Option<Path>,
    pub(crate) parameters: Parameters,
}

/// What the handler receives.
pub(crate) enum Source {
    /// One event.
    Event(LitStr),
    /// `order.*` or `*`
    Pattern(LitStr),
    /// One job.
    Job(LitStr),
}

/// Which version a handler of an undecoded event takes.
pub(crate) struct Version {
    pub(crate) number: u32,
    /// Where it is said.
    pub(crate) said: Option<Span>,
}

impl Source {
    pub(crate) fn said(&self) -> &LitStr {
        let (Self::Event(said) | Self::Pattern(said) | Self::Job(said)) = self;
        said
    }
}

impl Subscriber {
    /// Whether one event is named by text alone. An alias of `Envelope` is not seen here; `Registry` then finds a name
    /// that no event has.
    pub(crate) fn names_by_text_alone(&self) -> bool {
        let last = match &self.parameters.input {
            Type::Path(ty) => ty.path.segments.last(),
            _ => None,
        };
        matches!(self.source, Source::Event(_)) && last.is_some_and(|segment| segment.ident == "Envelope")
    }
}

pub(crate) fn check(args: syn::Result<Args>, function: &Function) -> Result<Subscriber, Errors> {
    let mut errors = Errors::default();
    let parameters = signature::check(function, &mut errors);
    let args = match args {
        Ok(args) => args,
        Err(error) => {
            errors.push(error);
            return Err(errors);
        }
    };
    let facade = Facade::new(args.krate.as_ref(), &mut errors);
    let source = check_source(&args, function, &mut errors);
    check_names(&args, &mut errors);
    check_reason(&args, &mut errors);
    check_in_transaction(&args, &mut errors);
    let settings = settings::check(&args, &mut errors);
    let version = check_version(&args, source.as_ref(), &mut errors);
    let Args { name, aliases, in_transaction, idempotent, when, .. } = args;
    match (source, parameters) {
        (Some(source), Some(parameters)) if !errors.any() => {
            let name = match &source {
                Source::Job(job) => Some(job.clone()),
                Source::Event(_) | Source::Pattern(_) => name,
            };
            Ok(Subscriber {
                facade,
                source,
                name,
                aliases,
                version,
                in_transaction,
                idempotent,
                settings,
                when,
                parameters,
            })
        }
        _ => Err(errors),
    }
}

fn check_source(args: &Args, function: &Function, errors: &mut Errors) -> Option<Source> {
    match (&args.event, &args.job) {
        (Some(event), None) => {
            name::check_pattern(event, errors);
            let is_pattern = outbox_core::name::is_wildcard(&event.value());
            Some(if is_pattern { Source::Pattern(event.clone()) } else { Source::Event(event.clone()) })
        }
        (None, Some(job)) => {
            name::check(job, &name::JOB, errors);
            if let Some(name) = &args.name {
                let text = "a job's handler is stored under the job's own name: leave `name` out, or rename the job";
                errors.at(name.span(), text);
            }
            Some(Source::Job(job.clone()))
        }
        (Some(_), Some(job)) => {
            errors.at(job.span(), "a subscriber receives an event or a job, not both: write one function each");
            None
        }
        (None, None) => {
            let name = function.name();
            let text = format!(
                "subscriber `{name}` must say what it receives: `event = \"order.placed\"` or `job = \"notifications.send_email\"`"
            );
            errors.at(Span::call_site(), text);
            None
        }
    }
}

fn check_names(args: &Args, errors: &mut Errors) {
    if let Some(name) = &args.name {
        name::check(name, &name::HANDLER, errors);
    }
    for (index, alias) in args.aliases.iter().enumerate() {
        name::check(alias, &name::HANDLER, errors);
        if args.aliases[..index].iter().any(|earlier| earlier.value() == alias.value()) {
            errors.at(alias.span(), format!("the alias `{}` is said twice", alias.value()));
        }
    }
}

/// S0-33: a handler must say why running it twice is safe, and blanks say nothing.
fn check_reason(args: &Args, errors: &mut Errors) {
    if let Some(why) = args.idempotent.as_ref().filter(|why| why.value().trim().is_empty()) {
        let text =
            "say why running this handler twice is safe, for example `idempotent = \"writes the same row again\"`";
        errors.at(why.span(), text);
    }
}

/// It has no job, so what is said of jobs says nothing.
fn check_in_transaction(args: &Args, errors: &mut Errors) {
    if !args.in_transaction {
        return;
    }
    if let Some(job) = &args.job {
        errors.at(job.span(), "a job is run after the commit: `in_transaction` is for a subscriber of an event");
    }
    if let Some(why) = &args.idempotent {
        errors.at(
            why.span(),
            "it runs once, inside of the publish, and commits or rolls back with it: leave `idempotent` out",
        );
    }
    let no_job = "it runs once, inside of the publish: there is no job to repeat, to put first or to wait, and an error fails the publish";
    let said = [
        ("max_attempts", args.max_attempts.as_ref().map(LitInt::span)),
        ("backoff", args.backoff.as_ref().map(BackoffArgs::span)),
        ("priority", args.priority.as_ref().map(LitInt::span)),
        ("concurrency", args.concurrency.as_ref().map(LitInt::span)),
    ];
    for (option, span) in said {
        if let Some(span) = span {
            errors.at(span, format!("`{option}` says nothing beside `in_transaction`, leave it out: {no_job}"));
        }
    }
}

fn check_version(args: &Args, source: Option<&Source>, errors: &mut Errors) -> Version {
    let Some(said) = &args.version else { return Version { number: 1, said: None } };
    match source {
        Some(Source::Pattern(_)) => errors.at(said.span(), "a pattern receives every version: leave `version` out"),
        Some(Source::Job(_)) => errors.at(said.span(), "the version is that of the job's type: leave `version` out"),
        Some(Source::Event(_)) | None => {}
    }
    let number = value::whole(said, 1..=value::MAX_INTEGER, "the version of an event is a whole number from 1", errors);
    Version { number: number.unwrap_or(1), said: Some(said.span()) }
}
