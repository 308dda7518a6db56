//! Paths into the facade, however the user's crate calls it.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Path;

use crate::errors::Errors;

/// The facade, as generated code names it.
pub(crate) struct Facade(TokenStream);

impl Facade {
    /// `::outbox`, or what `crate = ..` says.
    pub(crate) fn new(said: Option<&Path>, errors: &mut Errors) -> Self {
        let Some(path) = said else { return Self(quote!(::outbox)) };
        let is_absolute = path.leading_colon.is_some() || path.segments.first().is_some_and(|s| s.ident == "crate");
        if is_absolute {
            return Self(path.to_token_stream());
        }
        let shown = path.to_token_stream().to_string().replace(' ', "");
        let text = format!("the facade's path must be absolute, to mean the same everywhere: write `::{shown}`");
        errors.on(path, text);
        Self(quote!(::#path))
    }

    /// The module of all that generated code may name, with every token at `span`. An error stands where its first
    /// token stands, so a path left at the call site would drag the error from the user's word to the attribute.
    pub(crate) fn at(&self, span: Span) -> TokenStream {
        let facade = &self.0;
        quote!(#facade::__private).into_iter().map(|token| placed(token, span)).collect()
    }

    /// The same for code that no mistake of the user can make wrong.
    pub(crate) fn here(&self) -> TokenStream {
        self.at(Span::call_site())
    }

    /// The path of serde, as serde's own attribute wants it.
    pub(crate) fn serde(&self) -> String {
        format!("{}::__private::serde", self.0.to_string().replace(' ', ""))
    }
}

fn placed(mut token: TokenTree, span: Span) -> TokenTree {
    token.set_span(span);
    token
}
