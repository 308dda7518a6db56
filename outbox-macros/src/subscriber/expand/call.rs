//! The two functions of a handler's entry: what it requires, and how it is called.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::ReturnType;
use syn::spanned::Spanned;

use crate::subscriber::expand::local;
use crate::subscriber::function::Function;
use crate::subscriber::model::Subscriber;

/// `fn(&mut Requirements)`: the application state that the parameters need.
pub(crate) fn requires(model: &Subscriber) -> TokenStream {
    let requirements = local("requirements");
    let calls = model.parameters.others.iter().map(|ty| {
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
pub(crate) fn call(function: &Function, model: &Subscriber) -> TokenStream {
    let (delivery, input, returned) = (local("delivery"), local("input"), local("returned"));
    let others: Vec<_> = (0..model.parameters.others.len()).map(|index| local(&format!("other_{index}"))).collect();
    let decode = or_fail(model, &decode(model));
    let decline = decline(model);
    let extract = extract(model, &others);
    let run = run(function, model, &others);
    let outcome = outcome(function, model);
    quote! {
        |mut #delivery| {
            ::std::boxed::Box::pin(async move {
                let #input = #decode;
                #decline
                #extract
                let #returned = #run;
                #outcome
            })
        }
    }
}

/// The value of `result`, or the end of this execution.
fn or_fail(model: &Subscriber, result: &TokenStream) -> TokenStream {
    let (p, value, error) = (model.facade.here(), local("value"), local("error"));
    quote! {
        match #result {
            ::core::result::Result::Ok(#value) => #value,
            ::core::result::Result::Err(#error) => return #p::Outcome::of_error(&#error),
        }
    }
}

fn decode(model: &Subscriber) -> TokenStream {
    let (ty, delivery) = (&model.parameters.input, local("delivery"));
    let p = model.facade.at(ty.span());
    quote_spanned!(ty.span()=> <#ty as #p::Input<'_>>::decode(&#delivery))
}

/// The binding has the whole type, so that a function of another signature is an ordinary type error at its path.
fn decline(model: &Subscriber) -> Option<TokenStream> {
    let function = model.when.as_ref()?;
    let (when, input) = (local("when"), local("input"));
    let (p, ty) = (model.facade.here(), &model.parameters.input);
    let binding = quote_spanned!(function.span()=> let #when: fn(&#ty) -> bool = #function;);
    Some(quote! {
        #binding
        if !#when(&#input) {
            return #p::Outcome::Skipped;
        }
    })
}

fn extract(model: &Subscriber, variables: &[Ident]) -> TokenStream {
    let delivery = local("delivery");
    let bindings = model.parameters.others.iter().zip(variables).map(|(ty, variable)| {
        let p = model.facade.at(ty.span());
        let get = quote_spanned!(ty.span()=> <#ty as #p::FromDelivery<'_>>::from_delivery(&mut #delivery));
        let value = or_fail(model, &get);
        quote!(let #variable = #value;)
    });
    quote!(#(#bindings)*)
}

fn run(function: &Function, model: &Subscriber, others: &[Ident]) -> TokenStream {
    let (ident, input) = (&function.sig.ident, local("input"));
    let p = model.facade.at(ident.span());
    quote_spanned!(ident.span()=> #p::check::is_send(#ident(#input #(, #others)*)).await)
}

/// Written with the return type itself, which is then what a mistake points at; with the function's name where none is.
fn outcome(function: &Function, model: &Subscriber) -> TokenStream {
    let returned = local("returned");
    let (span, ty) = match &function.sig.output {
        ReturnType::Type(_, ty) => (ty.span(), quote!(#ty)),
        ReturnType::Default => (function.sig.ident.span(), quote_spanned!(function.sig.ident.span()=> ())),
    };
    let p = model.facade.at(span);
    quote_spanned!(span=> <#ty as #p::IntoOutcome>::into_outcome(#returned))
}
