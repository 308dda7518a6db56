//! A subscriber whose attribute and signature were checked.

use proc_macro2::Span;

use crate::errors::Errors;
use crate::handler::function::Function;
use crate::handler::model::{Handler, Message, Said, Source, Version};
use crate::handler::{names, run, signature};
use crate::name;
use crate::paths::Facade;
use crate::subscriber::parse::Args;
use crate::value;

pub(crate) fn check(args: syn::Result<Args>, function: &Function) -> Result<Handler, Errors> {
    let mut errors = Errors::default();
    let parameters = signature::check(function, &signature::SUBSCRIBER, &mut errors);
    let parameters = parameters.and_then(|parameters| signature::with_input(function, parameters, &mut errors));
    let args = match args {
        Ok(args) => args,
        Err(error) => {
            errors.push(error);
            return Err(errors);
        }
    };
    let facade = Facade::new(args.krate.as_ref(), &mut errors);
    let said = check_source(&args, function, &mut errors);
    names::check(args.name.as_ref(), &args.aliases, &name::HANDLER, &mut errors);
    names::check_reason(args.idempotent.as_ref(), &mut errors);
    check_in_transaction(&args, &mut errors);
    let settings = run::check(&args.run, &mut errors);
    let version = check_version(&args, said.as_ref(), &mut errors);
    let Args { name, aliases, in_transaction, idempotent, when, .. } = args;
    match (said, parameters) {
        (Some(said), Some((input, parameters))) if !errors.any() => {
            let name = match &said {
                Said::Job(job) => Some(job.clone()),
                Said::Event(_) | Said::Pattern(_) => name,
            };
            let source = Source::Message(Box::new(Message { input, said, version, in_transaction, when }));
            Ok(Handler { facade, source, name, aliases, idempotent, settings, parameters })
        }
        _ => Err(errors),
    }
}

fn check_source(args: &Args, function: &Function, errors: &mut Errors) -> Option<Said> {
    match (&args.event, &args.job) {
        (Some(event), None) => {
            name::check_pattern(event, errors);
            let is_pattern = outbox_core::name::is_wildcard(&event.value());
            Some(if is_pattern { Said::Pattern(event.clone()) } else { Said::Event(event.clone()) })
        }
        (None, Some(job)) => {
            name::check(job, &name::JOB, errors);
            if let Some(name) = &args.name {
                let text = "a job's handler is stored under the job's own name: leave `name` out, or rename the job";
                errors.at(name.span(), text);
            }
            Some(Said::Job(job.clone()))
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
    for (option, span) in args.run.of_jobs() {
        if let Some(span) = span {
            errors.at(span, format!("`{option}` says nothing beside `in_transaction`, leave it out: {no_job}"));
        }
    }
}

fn check_version(args: &Args, message: Option<&Said>, errors: &mut Errors) -> Version {
    let Some(said) = &args.version else { return Version { number: 1, said: None } };
    match message {
        Some(Said::Pattern(_)) => errors.at(said.span(), "a pattern receives every version: leave `version` out"),
        Some(Said::Job(_)) => errors.at(said.span(), "the version is that of the job's type: leave `version` out"),
        Some(Said::Event(_)) | None => {}
    }
    let number = value::whole(said, 1..=value::MAX_INTEGER, "the version of an event is a whole number from 1", errors);
    Version { number: number.unwrap_or(1), said: Some(said.span()) }
}
