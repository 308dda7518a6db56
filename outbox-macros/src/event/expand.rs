//! An event as tokens.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::event::model::Event;
use crate::event::subject::{Marked, Subject};
use crate::message::expand;
use crate::message::model::Message;
use crate::paths::Facade;

pub(crate) fn event(event: &Event) -> TokenStream {
    let message = &event.message;
    let item = expand::item(message);
    let errors = message.errors.tokens();
    let impls = message.has_impls.then(|| impls(event));
    let registration = (!message.errors.any()).then(|| expand::registration(message));
    quote!(#item #impls #registration #errors)
}

fn impls(event: &Event) -> TokenStream {
    let Event { message, subject } = event;
    let Message { facade, item, .. } = message;
    let (p, ident) = (facade.here(), &item.ident);
    let shared = expand::impls(message);
    let subject = subject_id(facade, subject);
    let key = idempotency_key(message);
    let owner = message
        .owner
        .as_ref()
        .map(|owner| quote!(const OWNER: ::core::option::Option<&'static str> = ::core::option::Option::Some(#owner);));
    quote! {
        #shared
        #[automatically_derived]
        impl #p::Event for #ident {
            #owner
            fn subject_id(&self) -> ::core::option::Option<::std::string::String> {
                #subject
            }
        }
        #key
    }
}

fn subject_id(facade: &Facade, subject: &Subject) -> TokenStream {
    match subject {
        Subject::None => quote!(::core::option::Option::None),
        Subject::Field(marked) => {
            let member = &marked.member;
            as_text(facade, marked, &quote!(&self.#member))
        }
        Subject::Variants(variants) => {
            let arms = variants.iter().map(|(variant, marked)| arm(facade, variant, marked.as_ref()));
            quote!(match self { #(#arms)* })
        }
    }
}

fn arm(facade: &Facade, variant: &Ident, marked: Option<&Marked>) -> TokenStream {
    let Some(marked) = marked else { return quote!(Self::#variant { .. } => ::core::option::Option::None,) };
    let member = &marked.member;
    let text = as_text(facade, marked, &quote!(subject));
    quote!(Self::#variant { #member: subject, .. } => #text,)
}

/// The conversion stands at the field's type, which is what a mistake here is about.
fn as_text(facade: &Facade, marked: &Marked, value: &TokenStream) -> TokenStream {
    let ty = &marked.ty;
    let p = facade.at(ty.span());
    let convert = quote_spanned!(ty.span()=> <#ty as #p::SubjectId>::subject_id);
    quote!(::core::option::Option::Some(#convert(#value)))
}

fn idempotency_key(message: &Message) -> TokenStream {
    let Message { facade, item, .. } = message;
    let (p, ident, vis) = (facade.here(), &item.ident, &item.vis);
    quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl #ident {
            /// The key under which `handler` (by the oldest name it was stored under) handles the event of this id.
            #[must_use]
            #vis fn idempotency_key(event: #p::EventId, handler: &str) -> #p::IdempotencyKey {
                #p::IdempotencyKey::of(event, handler)
            }
        }
    }
}
