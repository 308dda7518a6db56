//! A job as tokens.

use proc_macro2::TokenStream;
use quote::quote;

use crate::handler::expand::duration;
use crate::message::expand;
use crate::message::model::Message;

pub(crate) fn job(message: &Message) -> TokenStream {
    let item = expand::item(message);
    let errors = message.errors.tokens();
    let impls = message.has_impls.then(|| impls(message));
    let registration = (!message.errors.any()).then(|| expand::registration(message));
    quote!(#item #impls #registration #errors)
}

fn impls(message: &Message) -> TokenStream {
    let (p, ident) = (message.facade.here(), &message.item.ident);
    let shared = expand::impls(message);
    let expires = message.expires.map(|expires| {
        let expires = duration(expires);
        quote!(const EXPIRES: ::core::option::Option<::core::time::Duration> = ::core::option::Option::Some(#expires);)
    });
    quote! {
        #shared
        #[automatically_derived]
        impl #p::Job for #ident {
            #expires
        }
    }
}
