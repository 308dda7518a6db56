//! The user's function. Its body stays tokens: half-typed code still reaches the compiler and the editor.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Signature, Visibility};

pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    body: TokenTree,
}

impl Function {
    /// Its name as messages and stored names say it: `r#type` is `type`.
    pub(crate) fn name(&self) -> String {
        self.sig.ident.unraw().to_string()
    }
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        Ok(Self { attrs, vis: input.parse()?, sig: input.parse()?, body: input.parse()? })
    }
}

/// Without its attributes.
impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { vis, sig, body, .. } = self;
        tokens.extend(quote!(#vis #sig #body));
    }
}
