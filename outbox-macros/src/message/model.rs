//! A payload whose attribute was checked.

use std::time::Duration;

use outbox_core::Kind;
use proc_macro2::Span;
use syn::{Data, DeriveInput, LitStr, Path};

use crate::errors::Errors;
use crate::message::parse::Args;
use crate::message::serde::{self, Derives};
use crate::name::{self, NameOf};
use crate::paths::Facade;
use crate::value;

/// A type that becomes a message. It is complete even when mistakes were found: its impls are emitted all the same, so
/// that code which uses it shows no second error.
pub(crate) struct Message {
    pub(crate) facade: Facade,
    pub(crate) kind: Kind,
    pub(crate) item: DeriveInput,
    pub(crate) derives: Derives,
    /// `None` when it is missing or was refused.
    pub(crate) name: Option<LitStr>,
    pub(crate) version: u32,
    /// The type of an earlier version that it is made from.
    pub(crate) upcast_from: Option<Path>,
    /// The type of an earlier version that it is published as too.
    pub(crate) also_as: Option<Path>,
    /// Of a job: how long behind its due time it may be begun.
    pub(crate) expires: Option<Duration>,
    /// Of an event: the service that may publish it.
    pub(crate) owner: Option<LitStr>,
    /// Whether the traits can be implemented for it at all.
    pub(crate) has_impls: bool,
    pub(crate) errors: Errors,
}

/// How the attribute and its messages call the two kinds.
struct Words {
    /// `event`
    attribute: &'static str,
    /// `an event`
    one: &'static str,
    name: NameOf,
}

const EVENT: Words = Words { attribute: "event", one: "an event", name: name::EVENT };
const JOB: Words = Words { attribute: "job", one: "a job", name: name::JOB };

/// Checks what both attributes have in common.
pub(crate) fn check(kind: Kind, args: syn::Result<Args>, item: DeriveInput) -> Message {
    let words = match kind {
        Kind::Event => EVENT,
        Kind::Job => JOB,
    };
    let mut errors = Errors::default();
    let args = args.unwrap_or_else(|error| {
        errors.push(error);
        Args::default()
    });
    let facade = Facade::new(args.krate.as_ref(), &mut errors);
    let name = checked_name(args.name, &words, &mut errors);
    let version = args.version.map_or(Some(1), |said| {
        let why = format!("the version of {} is a whole number from 1", words.one);
        value::whole(&said, 1..=value::MAX_INTEGER, &why, &mut errors)
    });
    let fits = check_shape(&item, &words, &mut errors);
    serde::check(&item.attrs, words.one, &mut errors);
    let earlier = [("upcast_from", args.upcast_from), ("also_as", args.also_as)];
    let [mut upcast_from, mut also_as] =
        earlier.map(|(option, said)| checked_earlier(option, said, &item, &words, &mut errors));
    let mut name = name;
    if let (Some(1), Some(said)) = (version, upcast_from.as_ref().or(also_as.as_ref())) {
        errors.on(said, "version 1 has none before it: say `version = 2`, or whichever this is");
        // Which version it is to be is not known, so it is not a second version 1.
        (name, upcast_from, also_as) = (None, None, None);
    }
    let expires = args.expires.as_ref().and_then(|said| value::time(said, &mut errors));
    let owner = args.owner.filter(|said| {
        let is_service = outbox_core::name::is_service(&said.value());
        if !is_service {
            let text = format!(
                "`{}` cannot be the name of a service: lower-case letters, digits, `_` and `-`, beginning with a letter, as `policy`",
                said.value()
            );
            errors.at(said.span(), text);
        }
        is_service
    });
    let own_serde = args.serde.is_some_and(|said| !said.value);
    let derives = if own_serde || matches!(item.data, Data::Union(_)) {
        Derives::default()
    } else {
        Derives::missing_from(&item.attrs)
    };
    Message {
        facade,
        kind,
        item,
        derives,
        name,
        version: version.unwrap_or(1),
        upcast_from,
        also_as,
        expires,
        owner,
        has_impls: fits,
        errors,
    }
}

/// A type that names itself would never end.
fn checked_earlier(
    option: &str,
    said: Option<Path>,
    item: &DeriveInput,
    words: &Words,
    errors: &mut Errors,
) -> Option<Path> {
    let said = said?;
    if said.is_ident(&item.ident) || said.is_ident("Self") {
        errors.on(&said, format!("`{option}` names the type of an earlier version, not {} itself", words.one));
        return None;
    }
    Some(said)
}

fn checked_name(said: Option<LitStr>, words: &Words, errors: &mut Errors) -> Option<LitStr> {
    let Words { attribute, one, name } = words;
    let Some(said) = said else {
        // An argument that could not be read may well have been the name.
        if !errors.any() {
            let text = format!("{one} needs its stored name: `#[{attribute}(\"{}\")]`", name.example);
            errors.at(Span::call_site(), text);
        }
        return None;
    };
    let mut found = Errors::default();
    name::check(&said, name, &mut found);
    let is_name = !found.any();
    errors.append(found);
    is_name.then_some(said)
}

/// One stored name means one shape of payload, so neither generics nor unions fit.
fn check_shape(item: &DeriveInput, words: &Words, errors: &mut Errors) -> bool {
    let one = words.one;
    let ident = &item.ident;
    if let Data::Union(union) = &item.data {
        errors.at(union.union_token.span, format!("{one} is a struct or an enum: a union has no JSON form"));
        return false;
    }
    if !item.generics.params.is_empty() {
        let text = format!(
            "{one} cannot be generic, because one stored name means one shape of payload: put the concrete types into `{ident}`"
        );
        errors.on(&item.generics, text);
        return false;
    }
    true
}
