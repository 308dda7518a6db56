//! What events and jobs have in common, as tokens.

use outbox_core::Kind;
use outbox_core::name::hash;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;

use crate::message::model::Message;
use crate::message::versions;

/// The user's item under the derives that it lacks.
pub(crate) fn item(message: &Message) -> TokenStream {
    let Message { facade, item, derives, .. } = message;
    let p = facade.here();
    let serialize = derives.serialize.then(|| quote!(#[derive(#p::serde::Serialize)]));
    let deserialize = derives.deserialize.then(|| quote!(#[derive(#p::serde::Deserialize)]));
    let path = facade.serde();
    let says_where = derives.says_where.then(|| quote!(#[serde(crate = #path)]));
    quote!(#serialize #deserialize #says_where #item)
}

/// The traits and constants of both kinds, and what makes a second type of the same name an error.
pub(crate) fn impls(message: &Message) -> TokenStream {
    let Message { facade, kind, item, version, .. } = message;
    let p = facade.here();
    let ident = &item.ident;
    // An empty name fits every subscriber: the refused attribute is one error, not one more a handler.
    let name = message.name.clone().unwrap_or_else(|| LitStr::new("", Span::call_site()));
    let kind = match kind {
        Kind::Event => quote!(#p::Kind::Event),
        Kind::Job => quote!(#p::Kind::Job),
    };
    let constants = constants(message, &name);
    let unique = message.name.as_ref().map(|name| unique(message, name));
    let versions = versions::constants(message);
    let checks = versions::checks(message);
    quote! {
        #[automatically_derived]
        impl #p::Message for #ident {
            const NAME: &'static str = Self::NAME;
            const VERSION: u32 = #version;
            const KIND: #p::Kind = #kind;
            #versions
        }
        #constants
        #unique
        #checks
    }
}

/// `NAME`, `VERSION` and `WIRE_NAME` without an import, as visible as the type itself.
fn constants(message: &Message, name: &LitStr) -> TokenStream {
    let Message { facade, item, version, .. } = message;
    let (p, ident, vis) = (facade.here(), &item.ident, &item.vis);
    quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl #ident {
            /// The stored name.
            #vis const NAME: &'static str = #name;
            /// The version of the payload's shape.
            #vis const VERSION: u32 = #version;
            /// Stored name and version as one text.
            #vis const WIRE_NAME: &'static str = <Self as #p::Message>::WIRE_NAME;
        }
    }
}

/// `Names` for this type, and a call that becomes ambiguous when another type has the same name and version. Not in
/// unit tests: there a crate can be linked with itself, through a dev-dependency that depends on it.
fn unique(message: &Message, name: &LitStr) -> TokenStream {
    let Message { facade, kind, item, version, .. } = message;
    let (p, at_name) = (facade.here(), facade.at(name.span()));
    let (ident, hash) = (&item.ident, hash(&name.value()));
    let (type_of_name, taken_twice) = match kind {
        Kind::Event => (quote!(EventName), quote_spanned!(name.span()=> event_name_is_taken_twice)),
        Kind::Job => (quote!(JobName), quote_spanned!(name.span()=> job_name_is_taken_twice)),
    };
    let call = quote_spanned!(name.span()=> #at_name::#taken_twice::<#hash, #version, _>());
    quote! {
        #[automatically_derived]
        impl #p::Names<#ident> for #p::#type_of_name<#hash, #version> {}
        #[cfg(not(test))]
        const _: () = #call;
    }
}

/// What makes the type known to the program that links it; only for one whose attribute holds no mistake.
pub(crate) fn registration(message: &Message) -> TokenStream {
    let Message { facade, kind, item, version, .. } = message;
    let (p, ident) = (facade.here(), &item.ident);
    let (descriptor, of_events) = match kind {
        Kind::Event => {
            let versions = quote! {
                stored_version: #p::stored::<#ident>(),
                versions: <#ident as #p::Message>::VERSIONS,
                check: #p::check_payload::<#ident>,
            };
            (quote!(EventDescriptor), Some(versions))
        }
        Kind::Job => (quote!(JobDescriptor), None),
    };
    let place = place(&p);
    quote! {
        #p::inventory::submit! { #p::#descriptor {
            name: #ident::NAME,
            version: #version,
            #of_events
            shape: #p::Shape::of::<#ident>,
            rust_type: ::core::any::type_name::<#ident>,
            place: #place,
        } }
    }
}

/// Where the attribute stands.
pub(crate) fn place(p: &TokenStream) -> TokenStream {
    quote! {
        #p::Place {
            package: ::core::env!("CARGO_PKG_NAME"),
            module_path: ::core::module_path!(),
            file: ::core::file!(),
            line: ::core::line!(),
        }
    }
}
