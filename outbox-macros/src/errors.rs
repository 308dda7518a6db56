//! Every mistake of one attribute, gathered, so that a user sees all of them at once.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn at(&mut self, span: Span, text: impl Display) {
        self.push(syn::Error::new(span, text));
    }

    pub(crate) fn append(&mut self, others: Self) {
        if let Some(error) = others.0 {
            self.push(error);
        }
    }

    /// At all of `tokens`, where a span alone would show the first one.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, text: impl Display) {
        self.push(syn::Error::new_spanned(tokens, text));
    }

    /// All of them as one error.
    pub(crate) fn into_result(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }

    pub(crate) fn any(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn tokens(&self) -> TokenStream {
        self.0.as_ref().map(syn::Error::to_compile_error).unwrap_or_default()
    }
}

/// The item as it stands, and why its attribute cannot be there.
pub(crate) fn refuse(item: &TokenStream, why: &str) -> TokenStream {
    let error = syn::Error::new(Span::call_site(), why).to_compile_error();
    quote!(#item #error)
}
