//! A scheduled function whose attribute and signature were checked: its line is read, its zone is known, its date exists.

use outbox_core::schedule::{CatchUp, MOST_CAUGHT_UP, Overlap};
use outbox_core::timetable::{self, Timetable};
use proc_macro2::Span;
use syn::LitStr;

use crate::errors::Errors;
use crate::handler::function::Function;
use crate::handler::model::{Cadence, Handler, Schedule, Source};
use crate::handler::{names, run, signature};
use crate::name;
use crate::paths::Facade;
use crate::scheduled::parse::{Args, CatchUpArgs, OverlapArgs};
use crate::value;

pub(crate) fn check(args: syn::Result<Args>, function: &Function) -> Result<Handler, Errors> {
    let mut errors = Errors::default();
    let parameters = signature::check(function, &signature::SCHEDULED, &mut errors);
    let args = match args {
        Ok(args) => args,
        Err(error) => {
            errors.push(error);
            return Err(errors);
        }
    };
    let facade = Facade::new(args.krate.as_ref(), &mut errors);
    let cadence = check_cadence(&args, function, &mut errors);
    let (catch_up, overlap) = check_policies(&args, &mut errors);
    names::check(args.name.as_ref(), &args.aliases, &name::SCHEDULE, &mut errors);
    names::check_reason(args.idempotent.as_ref(), &mut errors);
    let settings = run::check(&args.run, &mut errors);
    let Args { name, aliases, idempotent, .. } = args;
    match (cadence, parameters) {
        (Some(cadence), Some(parameters)) if !errors.any() => {
            let source = Source::Schedule(Schedule { cadence, catch_up, overlap });
            Ok(Handler { facade, source, name, aliases, idempotent, settings, parameters })
        }
        _ => Err(errors),
    }
}

fn check_cadence(args: &Args, function: &Function, errors: &mut Errors) -> Option<Cadence> {
    match (&args.cron, &args.every) {
        (Some(line), None) => {
            check_line(line, args.tz.as_ref(), errors);
            Some(Cadence::Cron { line: line.clone(), zone: args.tz.clone() })
        }
        (None, Some(time)) => {
            if let Err(why) = Timetable::every(&time.value()) {
                errors.at(time.span(), format!("`{}` {why}", time.value()));
            }
            if let Some(zone) = &args.tz {
                errors.at(zone.span(), "`every` counts from one tick to the next and knows no zone: leave `tz` out");
            }
            Some(Cadence::Every(time.clone()))
        }
        (Some(_), Some(time)) => {
            errors.at(
                time.span(),
                "a schedule follows a cron line or comes round every so often, not both: leave one out",
            );
            None
        }
        (None, None) => {
            let text = format!(
                "scheduled function `{}` must say when it is due: `cron = \"0 3 * * *\", tz = \"Europe/Paris\"` or `every = \"5m\"`",
                function.name()
            );
            errors.at(Span::call_site(), text);
            None
        }
    }
}

fn check_line(line: &LitStr, tz: Option<&LitStr>, errors: &mut Errors) {
    let mut zone = timetable::zone("UTC").ok();
    if let Some(said) = tz {
        match timetable::zone(&said.value()) {
            Ok(known) => zone = Some(known),
            Err(why) => errors.at(said.span(), format!("`{}` {why}", said.value())),
        }
    }
    if let Some(zone) = zone
        && let Err(why) = Timetable::cron(&line.value(), zone)
    {
        errors.at(line.span(), format!("`{}` {why}", line.value()));
    }
}

fn check_policies(args: &Args, errors: &mut Errors) -> (CatchUp, Overlap) {
    let overlap = match args.overlap {
        Some(OverlapArgs::Allow) => Overlap::Allow,
        Some(OverlapArgs::Skip) | None => Overlap::Skip,
    };
    let catch_up = match &args.catch_up {
        Some(CatchUpArgs::Skip) => CatchUp::Skip,
        Some(CatchUpArgs::Latest) | None => CatchUp::Latest,
        Some(CatchUpArgs::All { most, said }) => {
            if overlap == Overlap::Skip {
                let why = "`all` gives several missed ticks a job each, of which one at a time can be unended: say `overlap = allow` beside it";
                errors.at(*said, why);
            }
            let why = format!("`all` counts ticks that are caught up, so it is 1 to {MOST_CAUGHT_UP}");
            CatchUp::All(value::whole(most, 1..=MOST_CAUGHT_UP, &why, errors).unwrap_or(1))
        }
    };
    (catch_up, overlap)
}
