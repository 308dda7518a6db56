//! The constant that a handler registers.

use std::time::Duration;

use outbox_core::subscriber::DEFAULT_IN_TRANSACTION_TIMEOUT;
use outbox_core::{CatchUp, Overlap};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};

use crate::handler::expand::{call, checks, local};
use crate::handler::function::Function;
use crate::handler::model::{Cadence, Handler, Said, Schedule, Source};
use crate::handler::run::Backoff;
use crate::message::expand::place;

pub(crate) fn descriptor(function: &Function, model: &Handler) -> TokenStream {
    let p = model.facade.here();
    let name = name(model);
    let aliases = &model.aliases;
    let source = source(model);
    let versions = versions(model);
    let reason = reason(model);
    let in_transaction = model.is_in_transaction();
    let settings = settings(&p, model);
    let requires = call::requires(model);
    let call = call::call(function, model);
    let (guard, place) = (local("guard"), place(&p));
    quote! {
        #p::SubscriberDescriptor {
            name: #name,
            aliases: &[#(#aliases),*],
            source: #source,
            in_transaction: #in_transaction,
            versions: #versions,
            guard: #guard,
            idempotent: #reason,
            settings: #settings,
            requires: #requires,
            call: #call,
            place: #place,
        }
    }
}

/// The stored name as a text.
pub(crate) fn name(model: &Handler) -> TokenStream {
    model.name.as_ref().map_or_else(|| quote!(__OUTBOX_NAME.as_str()), ToTokens::to_token_stream)
}

/// Where none is said, `module.function`. It is a static of its own because the module's path is known to the compiler
/// alone; that it can be a stored name is checked there, at the function's name.
pub(crate) fn default_name(function: &Function, model: &Handler) -> Option<TokenStream> {
    if model.name.is_some() {
        return None;
    }
    let (span, handler) = (function.sig.ident.span(), function.name());
    let (p, here) = (model.facade.at(span), model.facade.here());
    let name = quote_spanned!(span=> #p::default_handler_name(::core::module_path!(), #handler));
    Some(quote!(static __OUTBOX_NAME: #here::Text = #name;))
}

pub(crate) fn reason(model: &Handler) -> TokenStream {
    model.idempotent.as_ref().map_or_else(|| quote!(::core::option::Option::None), some)
}

fn source(model: &Handler) -> TokenStream {
    let p = model.facade.here();
    match &model.source {
        Source::Message(message) => match &message.said {
            Said::Event(said) | Said::Pattern(said) => quote!(#p::Source::Event(#said)),
            Said::Job(said) => quote!(#p::Source::Job(#said)),
        },
        Source::Schedule(schedule) => {
            let schedule = self::schedule(&p, schedule);
            quote!(#p::Source::Schedule(#schedule))
        }
    }
}

fn schedule(p: &TokenStream, said: &Schedule) -> TokenStream {
    let cadence = match &said.cadence {
        Cadence::Cron { line, zone } => {
            let zone = zone.as_ref().map_or_else(|| quote!("UTC"), ToTokens::to_token_stream);
            quote!(#p::Cadence::Cron { line: #line, zone: #zone })
        }
        Cadence::Every(time) => quote!(#p::Cadence::Every(#time)),
    };
    let catch_up = match said.catch_up {
        CatchUp::Skip => quote!(#p::CatchUp::Skip),
        CatchUp::Latest => quote!(#p::CatchUp::Latest),
        CatchUp::All(most) => quote!(#p::CatchUp::All(#most)),
    };
    let overlap = match said.overlap {
        Overlap::Skip => quote!(#p::Overlap::Skip),
        Overlap::Allow => quote!(#p::Overlap::Allow),
    };
    quote!(#p::Schedule { cadence: #cadence, catch_up: #catch_up, overlap: #overlap })
}

fn versions(model: &Handler) -> TokenStream {
    let p = model.facade.here();
    let Some(message) = model.message() else { return quote!(#p::Versions::Only(&[#p::TICK_VERSION])) };
    let number = message.version.number;
    let of_payload = checks::input_constant(model, message, "VERSIONS");
    match message.said {
        Said::Pattern(_) => quote!(#p::Versions::Any),
        Said::Event(_) | Said::Job(_) => quote!(#p::check::versions(#of_payload, &[#number])),
    }
}

/// Every field is written, said or not: `..DEFAULT` behind all of them would be a warning in the user's crate.
fn settings(p: &TokenStream, model: &Handler) -> TokenStream {
    let said = &model.settings;
    let default = quote!(#p::Settings::DEFAULT);
    let or_default = |said: Option<TokenStream>, field| said.unwrap_or_else(|| quote!(#default.#field));
    let max_attempts = or_default(said.max_attempts.map(|number| quote!(#number)), quote!(max_attempts));
    let backoff = or_default(said.backoff.as_ref().map(|said| backoff(p, said)), quote!(backoff));
    let timeout = said.timeout.or(model.is_in_transaction().then_some(DEFAULT_IN_TRANSACTION_TIMEOUT));
    let timeout = or_default(timeout.map(duration), quote!(timeout));
    let priority = or_default(said.priority.map(|number| quote!(#number)), quote!(priority));
    let concurrency = or_default(said.concurrency.map(some), quote!(concurrency));
    let batch = most_of_one_call(p, model);
    let parks = said.parks.is_some();
    quote! {
        #p::Settings {
            max_attempts: #max_attempts,
            backoff: #backoff,
            timeout: #timeout,
            priority: #priority,
            concurrency: #concurrency,
            batch: #batch,
            parks: #parks,
        }
    }
}

/// For a batch what is said, or the default; for one message none.
fn most_of_one_call(p: &TokenStream, model: &Handler) -> TokenStream {
    if model.message().is_none() {
        return quote!(::core::option::Option::None);
    }
    let (batch, said) = (local("batch"), model.settings.batch.map(|(most, _)| some(most)));
    let said = said.unwrap_or_else(|| quote!(::core::option::Option::None));
    quote!(#p::check::most_of_one_call(#batch, #said))
}

fn backoff(p: &TokenStream, backoff: &Backoff) -> TokenStream {
    match backoff {
        Backoff::Fixed { every } => {
            let every = duration(*every);
            quote!(#p::Backoff::fixed(#every))
        }
        Backoff::Exponential { base, max } => {
            let (base, max) = (duration(*base), duration(*max));
            quote!(#p::Backoff::exponential(#base, #max))
        }
    }
}

fn some(value: impl ToTokens) -> TokenStream {
    quote!(::core::option::Option::Some(#value))
}

pub(crate) fn duration(duration: Duration) -> TokenStream {
    // `outbox_core::duration` reads a hundred years at most, which is far from the end of `u64`.
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    quote!(::core::time::Duration::from_millis(#millis))
}
