//! The two functions of a handler's entry: what it requires, and how it is called.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ReturnType;
use syn::spanned::Spanned;

use crate::handler::expand::local;
use crate::handler::function::Function;
use crate::handler::model::{Handler, Message};

/// `fn(&mut Requirements)`: the application state that the parameters need.
pub(crate) fn requires(model: &Handler) -> TokenStream {
    let requirements = local("requirements");
    let calls = model.parameters.iter().map(|ty| {
        let p = model.facade.at(ty.span());
        quote_spanned!(ty.span()=> <#ty as #p::FromDelivery<'_>>::requires(#requirements);)
    });
    quote! {
        |#requirements| {
            #(#calls)*
        }
    }
}

/// `fn(Delivery) -> BoxFuture<Outcome>`: decode, decline, extract, call.
pub(crate) fn call(function: &Function, model: &Handler) -> TokenStream {
    let (delivery, returned) = (local("delivery"), local("returned"));
    let others: Vec<_> = (0..model.parameters.len()).map(|index| local(&format!("other_{index}"))).collect();
    let decode = model.message().map(|message| decode(model, message));
    let decline = model.message().and_then(|message| decline(model, message));
    let extract = extract(model, &others);
    let run = run(function, model, &others);
    let outcome = outcome(function, model);
    quote! {
        |mut #delivery| {
            ::std::boxed::Box::pin(async move {
                #decode
                #decline
                #extract
                let #returned = #run;
                #outcome
            })
        }
    }
}

/// The value of `result`, or the end of this execution.
fn or_fail(model: &Handler, result: &TokenStream) -> TokenStream {
    let (p, value, error) = (model.facade.here(), local("value"), local("error"));
    quote! {
        match #result {
            ::core::result::Result::Ok(#value) => #value,
            ::core::result::Result::Err(#error) => return #p::Outcome::of_error(&#error),
        }
    }
}

fn decode(model: &Handler, message: &Message) -> TokenStream {
    let (ty, input, delivery) = (&message.input, local("input"), local("delivery"));
    let p = model.facade.at(ty.span());
    let value = or_fail(model, &quote_spanned!(ty.span()=> <#ty as #p::Input<'_>>::decode(&#delivery)));
    quote!(let #input = #value;)
}

/// Of a batch, each message is asked for. The binding has the whole type, so that a function of another signature is an ordinary type error at its path.
fn decline(model: &Handler, message: &Message) -> Option<TokenStream> {
    let function = message.when.as_ref()?;
    let (when, input) = (local("when"), local("input"));
    let (p, ty) = (model.facade.here(), &message.input);
    let of_input = model.facade.at(ty.span());
    let asked = quote_spanned!(ty.span()=> <#ty as #of_input::Input<'_>>);
    let binding = quote_spanned!(function.span()=> let #when: fn(&#asked::Asked) -> bool = #function;);
    Some(quote! {
        #binding
        let ::core::option::Option::Some(#input) = #asked::accepted(#input, #when) else {
            return #p::Outcome::Skipped;
        };
    })
}

fn extract(model: &Handler, variables: &[Ident]) -> TokenStream {
    let delivery = local("delivery");
    let bindings = model.parameters.iter().zip(variables).map(|(ty, variable)| {
        let p = model.facade.at(ty.span());
        let get = quote_spanned!(ty.span()=> <#ty as #p::FromDelivery<'_>>::from_delivery(&mut #delivery));
        let value = or_fail(model, &get);
        quote!(let #variable = #value;)
    });
    quote!(#(#bindings)*)
}

fn run(function: &Function, model: &Handler, others: &[Ident]) -> TokenStream {
    let ident = &function.sig.ident;
    let input = model.message().map(|_| local("input"));
    let arguments = input.iter().chain(others);
    let p = model.facade.at(ident.span());
    quote_spanned!(ident.span()=> #p::check::is_send(#ident(#(#arguments),*)).await)
}

/// Written with the return type itself, which is then what a mistake points at; with the function's name where none is.
fn outcome(function: &Function, model: &Handler) -> TokenStream {
    let (returned, delivery) = (local("returned"), local("delivery"));
    let (span, ty) = returns(function);
    let p = model.facade.at(span);
    quote_spanned!(span=> <#ty as #p::IntoOutcome>::into_outcome(#returned, #delivery.outcomes()))
}

pub(crate) fn returns(function: &Function) -> (Span, TokenStream) {
    match &function.sig.output {
        ReturnType::Type(_, ty) => (ty.span(), quote!(#ty)),
        ReturnType::Default => (function.sig.ident.span(), quote_spanned!(function.sig.ident.span()=> ())),
    }
}
