//! `#[event("order.placed")]`

mod expand;
mod model;
mod subject;

use proc_macro2::TokenStream;

use crate::errors;
use crate::message::parse;
use crate::options::Options;

pub(crate) const OPTIONS: Options = Options {
    owner: "an event",
    known: &["version", "upcast_from", "also_as", "owner", "serde", "crate"],
    name: "order.placed",
    remark: ", behind its name: `#[event(\"order.placed\", version = 2)]`",
};

pub(crate) fn attribute(args: TokenStream, item: &TokenStream) -> TokenStream {
    match syn::parse2(item.clone()) {
        Ok(parsed) => expand::event(&model::check(parse::args(args, &OPTIONS), parsed)),
        Err(_) => errors::refuse(item, "`#[event]` goes on a struct or an enum"),
    }
}
