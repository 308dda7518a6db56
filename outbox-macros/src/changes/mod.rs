//! `#[derive(Changes)]`

mod expand;
mod model;
mod parse;
mod serde;

use proc_macro2::TokenStream;

pub(crate) fn derive(item: TokenStream) -> TokenStream {
    match syn::parse2(item) {
        Ok(item) => expand::tracked(&model::check(item)),
        Err(error) => error.to_compile_error(),
    }
}
