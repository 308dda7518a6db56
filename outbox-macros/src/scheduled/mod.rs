//! `#[scheduled(cron = "0 3 * * *", tz = "Europe/Paris")]`: a handler that no message calls, but the time.

pub(crate) mod model;
pub(crate) mod parse;

use proc_macro2::TokenStream;

use crate::errors;
use crate::handler::expand;
use crate::handler::function::Function;
use crate::scheduled::parse::Args;

pub(crate) fn attribute(args: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(function) = syn::parse2::<Function>(item.clone()) else {
        return errors::refuse(item, "`#[scheduled]` goes on an `async fn`");
    };
    match model::check(syn::parse2::<Args>(args), &function) {
        Ok(model) => expand::registered(&function, &model),
        Err(errors) => expand::refused(&function, &errors),
    }
}
