//! What the compiler is to check about the types. The rules and their wording are `outbox_core::check`'s.

use outbox_core::name::hash;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

use crate::handler::expand::{call, descriptor, local};
use crate::handler::function::Function;
use crate::handler::model::{Handler, Message, Said};
use crate::handler::signature::shown;
use crate::paths::Facade;

pub(crate) fn all(function: &Function, model: &Handler) -> TokenStream {
    let message = model.message().map(|message| message_fits(function, model, message));
    let aliases = aliases_differ(model);
    let idempotency = idempotency(function, model);
    let others = others_fit(function, model);
    let unknown = unknown_fits(function, model);
    quote! {
        #message
        #aliases
        #idempotency
        #unknown
        #others
    }
}

/// The first parameter is what the attribute says.
fn message_fits(function: &Function, model: &Handler, message: &Message) -> TokenStream {
    let variable = local("message");
    let declared = input_constant(model, message, "MESSAGE");
    let source = source_fits(model, message);
    let version = version_fits(model, message);
    let (batch, is_batch) = (local("batch"), input_constant(model, message, "BATCH"));
    let batch_fits = batch_fits(function, model, message);
    quote! {
        let #variable = #declared;
        let #batch = #is_batch;
        #source
        #version
        #batch_fits
    }
}

/// A constant of the first parameter's type.
pub(crate) fn input_constant(model: &Handler, message: &Message, constant: &str) -> TokenStream {
    let ty = &message.input;
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
fn source_fits(model: &Handler, of: &Message) -> TokenStream {
    let said = of.said.text();
    let span = said.span();
    let p = model.facade.at(span);
    let (payload, message) = (shown(&of.input), local("message"));
    let batch = local("batch");
    match of.said {
        Said::Event(_) => quote_spanned!(span=> #p::check::event_is_its_payloads(#said, #payload, #message);),
        Said::Pattern(_) => {
            quote_spanned!(span=> #p::check::wildcard_takes_the_envelope(#said, #payload, #message, #batch);)
        }
        Said::Job(_) => quote_spanned!(span=> #p::check::job_is_its_payloads(#said, #payload, #message);),
    }
}

/// A batch where one can be, and what is said of batches beside one only.
fn batch_fits(function: &Function, model: &Handler, of: &Message) -> TokenStream {
    let (handler, payload, batch) = (function.name(), shown(&of.input), local("batch"));
    let option = model.settings.batch.map(|(_, span)| {
        let p = model.facade.at(span);
        quote_spanned!(span=> #p::check::batch_is_for_a_batch(#handler, #payload, #batch);)
    });
    let in_transaction = of.in_transaction.then(|| {
        let p = model.facade.at(of.input.span());
        quote_spanned!(of.input.span()=> #p::check::batch_is_not_in_transaction(#handler, #payload, #batch);)
    });
    let (span, returned) = call::returns(function);
    let p = model.facade.at(span);
    let said = match &function.sig.output {
        syn::ReturnType::Type(_, ty) => shown(ty),
        syn::ReturnType::Default => "()".to_owned(),
    };
    let each = quote_spanned!(span=> <#returned as #p::IntoOutcome>::EACH);
    quote_spanned! {span=>
        #option
        #in_transaction
        #p::check::each_is_for_a_batch(#handler, #said, #batch, #each);
    }
}

fn version_fits(model: &Handler, of: &Message) -> Option<TokenStream> {
    let span = of.version.said?;
    let p = model.facade.at(span);
    let (payload, message) = (shown(&of.input), local("message"));
    Some(quote_spanned!(span=> #p::check::version_is_for_the_envelope(#payload, #message);))
}

fn aliases_differ(model: &Handler) -> TokenStream {
    let name = descriptor::name(model);
    let checks = model.aliases.iter().map(|alias| {
        let p = model.facade.at(alias.span());
        quote_spanned!(alias.span()=> #p::check::alias_is_another_name(#name, #alias);)
    });
    quote!(#(#checks)*)
}

/// S0-33: a handler that may run twice says why that is safe. One in the transaction cannot.
fn idempotency(function: &Function, model: &Handler) -> TokenStream {
    let span = function.sig.ident.span();
    let (p, here, handler) = (model.facade.at(span), model.facade.here(), function.name());
    let guards = model.parameters.iter().map(|ty| constant_of(&model.facade, ty, "GUARD"));
    let (why, guard) = (descriptor::reason(model), local("guard"));
    let batch = model.message().map_or_else(|| quote!(false), |_| local("batch").into_token_stream());
    let check = (!model.is_in_transaction())
        .then(|| quote_spanned!(span=> #p::check::idempotency_is_stated(#handler, #guard, #why, #batch);));
    quote! {
        let #guard = #here::check::strongest(&[#(#guards),*]);
        #check
    }
}

/// `unknown = park` where it can mean something. Behind the guard, which it looks at.
fn unknown_fits(function: &Function, model: &Handler) -> Option<TokenStream> {
    let span = model.settings.parks?;
    let (p, handler, guard) = (model.facade.at(span), function.name(), local("guard"));
    let batch = model.message().map_or_else(|| quote!(false), |_| local("batch").into_token_stream());
    Some(quote_spanned!(span=> #p::check::unknown_is_parked(#handler, #guard, #batch);))
}

/// One transaction at most, nothing that belongs to one event beside a batch, and a tick where there are some.
fn others_fit(function: &Function, model: &Handler) -> TokenStream {
    let handler = function.name();
    let batch = model.message().map(|_| local("batch"));
    let taken = local("taken");
    let checks = model.parameters.iter().map(|ty| {
        let p = model.facade.at(ty.span());
        let parameter = shown(ty);
        let guard = constant_of(&model.facade, ty, "GUARD");
        let fits = batch.as_ref().map(|batch| {
            let per_event = constant_of(&model.facade, ty, "PER_EVENT");
            let of_a_schedule = constant_of(&model.facade, ty, "OF_A_SCHEDULE");
            quote_spanned! {ty.span()=>
                #p::check::fits_batch(#handler, #parameter, #batch, #per_event);
                #p::check::batch_has_no_transaction(#handler, #parameter, #batch, #guard);
                #p::check::is_no_tick(#handler, #parameter, #of_a_schedule);
            }
        });
        quote_spanned! {ty.span()=>
            let #taken = #p::check::one_transaction(#handler, #taken, #guard);
            #fits
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
pub(crate) fn event_is_known(model: &Handler, of: &Message) -> TokenStream {
    let said = of.said.text();
    let (span, text, version) = (said.span(), said.value(), of.version.number);
    let (p, hash) = (model.facade.at(span), hash(&text));
    let message = format!("no event is named \"{text}\" in version {version}");
    let other_version = if of.version.said.is_none() { "for another version say `version = ..`; " } else { "" };
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
