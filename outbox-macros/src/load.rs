//! `modules![orders]`: has the compiler load a crate that no other line names.

use proc_macro2::{Ident, TokenStream};
use quote::quote_spanned;

/// `use orders as _;`, with every token at the name, so that a crate missing from Cargo.toml is reported there.
pub(crate) fn load(name: TokenStream) -> TokenStream {
    match syn::parse2::<Ident>(name) {
        Ok(name) => quote_spanned!(name.span()=> const _: () = { use #name as _; };),
        Err(error) => error.to_compile_error(),
    }
}
