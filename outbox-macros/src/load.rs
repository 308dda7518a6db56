//! `modules![orders]`: has the compiler load a crate that no other line names.

use proc_macro2::{Ident, TokenStream};
use quote::quote_spanned;

/// `use orders as _;`, with every token at the name, so that a crate missing from Cargo.toml is reported there. For a
/// module of the same crate it does nothing, which the compiler would remark on.
pub(crate) fn load(name: TokenStream) -> TokenStream {
    match syn::parse2::<Ident>(name) {
        Ok(name) => quote_spanned!(name.span()=> const _: () = { #[allow(unused_imports)] use #name as _; };),
        Err(error) => error.to_compile_error(),
    }
}
