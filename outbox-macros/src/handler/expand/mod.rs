//! A handler as tokens: the user's function untouched, and beside it one registered constant.
//!
//! Every check stands in the body of that constant, so that each mistake is printed once; code that a mistake of the
//! user can make wrong carries the span of the user's word.

mod call;
mod checks;
mod descriptor;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

pub(crate) use descriptor::duration;

use crate::errors::Errors;
use crate::handler::function::Function;
use crate::handler::model::Handler;

/// The function and its registration.
pub(crate) fn registered(function: &Function, model: &Handler) -> TokenStream {
    let attrs = &function.attrs;
    let p = model.facade.here();
    let by_text = model.message().filter(|message| message.names_by_text_alone());
    let known = by_text.map(|message| checks::event_is_known(model, message));
    let default_name = descriptor::default_name(function, model);
    let checks = checks::all(function, model);
    let descriptor = descriptor::descriptor(function, model);
    quote! {
        #(#attrs)*
        // the signature is what the framework asks for, not a matter of style
        #[allow(clippy::unused_async, clippy::needless_pass_by_value)]
        #function
        #known
        #p::inventory::submit! { {
            #default_name
            #checks
            #descriptor
        } }
    }
}

/// A variable that no item of the user can be confused with, whatever the two are called.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The function alone: what is wrong with it is said by `errors`, and nothing else need be.
pub(crate) fn refused(function: &Function, errors: &Errors) -> TokenStream {
    let (attrs, errors) = (&function.attrs, errors.tokens());
    quote! {
        #(#attrs)*
        #[allow(dead_code, clippy::unused_async, clippy::needless_pass_by_value)]
        #function
        #errors
    }
}
