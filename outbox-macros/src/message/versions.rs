//! `upcast_from` and `also_as`: the earlier versions that a type is read from, and the one that it is published as too.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Path;
use syn::spanned::Spanned;

use crate::message::model::Message;

/// What `impl Message` says of them. Each trait is asked once, at the user's own word, so that a missing conversion is one error.
pub(crate) fn constants(message: &Message) -> TokenStream {
    let Message { facade, item, version, .. } = message;
    let (p, ident) = (facade.here(), &item.ident);
    let upcast = message.upcast_from.as_ref().map(|earlier| {
        let way = way(message, earlier, "UpcastFrom", "UPCAST");
        quote! {
            const UPCAST: ::core::option::Option<#p::Upcast<Self>> = ::core::option::Option::Some(#way);
            const VERSIONS: &'static [u32] = {
                const EARLIER: &[u32] = #p::earlier_versions::<#ident>();
                const ALL: [u32; EARLIER.len() + 1] = #p::chain(#version, EARLIER);
                &ALL
            };
        }
    });
    let downcast = message.also_as.as_ref().map(|earlier| {
        let way = way(message, earlier, "AlsoAs", "DOWNCAST");
        quote! {
            const DOWNCAST: ::core::option::Option<#p::Downcast<Self>> = ::core::option::Option::Some(#way);
        }
    });
    quote!(#upcast #downcast)
}

/// `<Self as UpcastFrom<Earlier>>::UPCAST`
fn way(message: &Message, earlier: &Path, of: &str, constant: &str) -> TokenStream {
    let span = earlier.span();
    let p = message.facade.at(span);
    let ident = Ident::new(&message.item.ident.to_string(), span);
    let (of, constant) = (Ident::new(of, span), Ident::new(constant, span));
    quote_spanned!(span=> <#ident as #p::#of<#earlier>>::#constant)
}

/// That they are earlier versions of the same message, said at the user's own word.
pub(crate) fn checks(message: &Message) -> Option<TokenStream> {
    let checks: Vec<_> = [upcast_fits(message), also_as_fits(message)].into_iter().flatten().collect();
    (!checks.is_empty()).then(|| quote!(const _: () = { #(#checks)* };))
}

fn upcast_fits(message: &Message) -> Option<TokenStream> {
    let earlier = message.upcast_from.as_ref()?;
    let (span, shown) = (earlier.span(), shown(earlier));
    let (p, own, message) = (message.facade.at(span), own(message, span), of(message, span));
    Some(quote_spanned! {span=>
        if let ::core::option::Option::Some(way) = #message::UPCAST {
            #p::check::upcast_is_from_an_earlier_version(#own, #shown, way.from);
        }
    })
}

fn also_as_fits(message: &Message) -> Option<TokenStream> {
    let earlier = message.also_as.as_ref()?;
    let (span, shown) = (earlier.span(), shown(earlier));
    let (p, own, message) = (message.facade.at(span), own(message, span), of(message, span));
    Some(quote_spanned! {span=>
        if let ::core::option::Option::Some(way) = #message::DOWNCAST {
            #p::check::also_as_is_upcast_from(#own, #message::VERSIONS, #shown, way.into);
        }
    })
}

/// Name, version and kind.
fn own(message: &Message, span: Span) -> TokenStream {
    let of = of(message, span);
    quote_spanned!(span=> (#of::NAME, #of::VERSION, #of::KIND))
}

fn of(message: &Message, span: Span) -> TokenStream {
    let (p, ident) = (message.facade.at(span), Ident::new(&message.item.ident.to_string(), span));
    quote_spanned!(span=> <#ident as #p::Message>)
}

fn shown(path: &Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
