//! `#[subscriber(event = "order.placed")]`

mod expand;
mod function;
mod model;
mod parse;
mod settings;
mod signature;

use proc_macro2::TokenStream;

use crate::errors;
use crate::subscriber::function::Function;
use crate::subscriber::parse::Args;

pub(crate) fn attribute(args: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(function) = syn::parse2::<Function>(item.clone()) else {
        return errors::refuse(item, "`#[subscriber]` goes on an `async fn`");
    };
    match model::check(syn::parse2::<Args>(args), &function) {
        Ok(model) => expand::registered(&function, &model),
        Err(errors) => expand::refused(&function, &errors),
    }
}
