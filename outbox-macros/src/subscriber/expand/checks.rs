//! What the compiler is to check about the types. The rules and their wording are `outbox_core::check`'s.

use outbox_core::name::hash;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

use crate::paths::Facade;
use crate::subscriber::expand::{descriptor, local};
use crate::subscriber::function::Function;
use crate::subscriber::model::{Source, Subscriber};
use crate::subscriber::signature::shown;

pub(crate) fn all(function: &Function, model: &Subscriber) -> TokenStream {
    let message = local("message");
    let declared = input_constant(model, "MESSAGE");
    let source = source_fits(model);
    let version = version_fits(model);
    let aliases = aliases_differ(model);
    let idempotency = idempotency(function, model);
    let others = others_fit(function, model);
    quote! {
        let #message = #declared;
        #source
        #version
        #aliases
        #idempotency
        #others
    }
}

/// A constant of the first parameter's type.
pub(crate) fn input_constant(model: &Subscriber, constant: &str) -> TokenStream {
    let ty = &model.parameters.input;
    let p = model.facade.at(ty.span());
    let constant = syn::Ident::new(constant, ty.span());
    quote_spanned!(ty.span()=> <#ty as #p::Input<'_>>::#constant)
}

/// A constant of another parameter's type.
fn constant_of(facade: &Facade, ty: &Type, constant: &str) -> TokenStream {
    let p = facade.at(ty.span());
    let constant = syn::Ident::new(constant, ty.span());
    quote_spanned!(ty.span()=> <#ty as #p::FromDelivery<'_>>::#constant)
}

/// The text in the attribute against the type of the first parameter.
fn source_fits(model: &Subscriber) -> TokenStream {
    let said = model.source.said();
    let span = said.span();
    let p = model.facade.at(span);
    let (payload, message) = (shown(&model.parameters.input), local("message"));
    let rule = match model.source {
        Source::Event(_) => quote_spanned!(span=> event_is_its_payloads),
        Source::Pattern(_) => quote_spanned!(span=> wildcard_takes_the_envelope),
        Source::Job(_) => quote_spanned!(span=> job_is_its_payloads),
    };
    quote_spanned!(span=> #p::check::#rule(#said, #payload, #message);)
}

fn version_fits(model: &Subscriber) -> Option<TokenStream> {
    let span = model.version.said?;
    let p = model.facade.at(span);
    let (payload, message) = (shown(&model.parameters.input), local("message"));
    Some(quote_spanned!(span=> #p::check::version_is_for_the_envelope(#payload, #message);))
}

fn aliases_differ(model: &Subscriber) -> TokenStream {
    let name = descriptor::name(model);
    let checks = model.aliases.iter().map(|alias| {
        let p = model.facade.at(alias.span());
        quote_spanned!(alias.span()=> #p::check::alias_is_another_name(#name, #alias);)
    });
    quote!(#(#checks)*)
}

/// S0-33: a handler that may run twice says why that is safe. One in the transaction cannot.
fn idempotency(function: &Function, model: &Subscriber) -> TokenStream {
    let span = function.sig.ident.span();
    let (p, here, handler) = (model.facade.at(span), model.facade.here(), function.name());
    let guards = model.parameters.others.iter().map(|ty| constant_of(&model.facade, ty, "GUARD"));
    let (why, guard) = (descriptor::reason(model), local("guard"));
    let check = (!model.in_transaction)
        .then(|| quote_spanned!(span=> #p::check::idempotency_is_stated(#handler, #guard, #why);));
    quote! {
        let #guard = #here::check::strongest(&[#(#guards),*]);
        #check
    }
}

/// One transaction at most, and nothing that belongs to one event beside a batch.
fn others_fit(function: &Function, model: &Subscriber) -> TokenStream {
    let handler = function.name();
    let batch = input_constant(model, "BATCH");
    let taken = local("taken");
    let checks = model.parameters.others.iter().map(|ty| {
        let p = model.facade.at(ty.span());
        let parameter = shown(ty);
        let guard = constant_of(&model.facade, ty, "GUARD");
        let per_event = constant_of(&model.facade, ty, "PER_EVENT");
        quote_spanned! {ty.span()=>
            let #taken = #p::check::one_transaction(#handler, #taken, #guard);
            #p::check::fits_batch(#handler, #parameter, #batch, #per_event);
        }
    });
    quote! {
        let #taken = false;
        #(#checks)*
    }
}

/// An event named by text alone must exist: its name is a type, for which `#[event]` implements `Names`. The local
/// trait is there for its message, which can so carry the name. Not in unit tests: there a crate can be linked with
/// itself, and each of its events then exists twice.
pub(crate) fn event_is_known(model: &Subscriber) -> TokenStream {
    let said = model.source.said();
    let (span, text, version) = (said.span(), said.value(), model.version.number);
    let (p, hash) = (model.facade.at(span), hash(&text));
    let message = format!("no event is named \"{text}\" in version {version}");
    let other_version = if model.version.said.is_none() { "for another version say `version = ..`; " } else { "" };
    let note = format!(
        "{other_version}if another crate declares it, add that crate to Cargo.toml and name it here: `use orders as _;`"
    );
    let call = quote_spanned!(span=> known::<_>());
    quote_spanned! {span=>
        #[cfg(not(test))]
        const _: () = {
            #[diagnostic::on_unimplemented(
                message = #message,
                label = "no `#[event]` of this name in this crate, nor in the crates that it names",
                note = #note
            )]
            trait Known<T> {}
            #[diagnostic::do_not_recommend]
            impl<T> Known<T> for #p::EventName<#hash, #version> where #p::EventName<#hash, #version>: #p::Names<T> {}
            const fn known<T>()
            where
                #p::EventName<#hash, #version>: Known<T>,
            {
            }
            #call
        };
    }
}
