//! A comparable struct as tokens.
//!
//! Serde writes the fields: of a second struct that nobody makes, with the same fields and what serde is told about them, but
//! without the secret ones. So names, flattened parts and absent fields are those of the struct's own JSON, and a secret is never
//! written at all, whatever it is called there.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::Field;

use crate::changes::model::Tracked;
use crate::changes::serde::{self, OF_A_FIELD, OF_THE_STRUCT};

pub(crate) fn tracked(model: &Tracked) -> TokenStream {
    let Tracked { facade, item, fields, errors } = model;
    let (p, ident) = (facade.here(), &item.ident);
    let (generics, arguments, bounds) = item.generics.split_for_impl();
    let errors_found = errors.any();
    let errors = errors.tokens();
    let view = if errors_found { refused(model) } else { view(model, fields) };
    quote! {
        #errors
        const _: () = {
            #view
            #[automatically_derived]
            impl #generics #p::Tracked for #ident #arguments #bounds {
                fn serialize_fields<S: #p::serde::Serializer>(
                    &self,
                    serializer: S,
                ) -> ::core::result::Result<S::Ok, S::Error> {
                    view(self, serializer)
                }
            }
        };
    }
}

/// What is wrong is said; code that compares the type need not say more.
fn refused(model: &Tracked) -> TokenStream {
    let p = model.facade.here();
    quote! {
        fn view<T: ?Sized, S: #p::serde::Serializer>(_: &T, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
            serializer.serialize_unit()
        }
    }
}

fn view(model: &Tracked, fields: &[(Field, bool)]) -> TokenStream {
    let (p, ident, path) = (model.facade.here(), &model.item.ident, model.facade.serde());
    let (view, remote) = (format_ident!("__{ident}Changes"), ident.to_string());
    let told = serde::kept(&model.item.attrs, OF_THE_STRUCT);
    let fields = fields.iter().map(|(field, left_out)| self::field(ident, field, *left_out));
    quote! {
        #[derive(#p::serde::Serialize)]
        #[serde(crate = #path, remote = #remote #(, #told)*)]
        #[allow(dead_code, non_camel_case_types)]
        struct #view {
            #(#fields,)*
        }
        fn view<S: #p::serde::Serializer>(value: &#ident, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
            #view::serialize(value, serializer)
        }
    }
}

fn field(of: &Ident, field: &Field, left_out: bool) -> TokenStream {
    let (name, ty) = (&field.ident, concrete(field.ty.to_token_stream(), of));
    if left_out {
        return quote!(#[serde(skip_serializing)] #name: #ty);
    }
    let told = serde::kept(&field.attrs, OF_A_FIELD);
    let told = (!told.is_empty()).then(|| quote!(#[serde(#(#told),*)]));
    quote!(#told #name: #ty)
}

/// The type with the struct's name in place of `Self`, which would mean the second struct.
fn concrete(ty: TokenStream, of: &Ident) -> TokenStream {
    ty.into_iter()
        .map(|token| match token {
            TokenTree::Ident(word) if word == "Self" => Ident::new(&of.to_string(), word.span()).into(),
            TokenTree::Group(group) => Group::new(group.delimiter(), concrete(group.stream(), of)).into(),
            other => other,
        })
        .collect()
}
