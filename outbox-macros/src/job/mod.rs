//! `#[job("notifications.send_email")]`: all of it is what a message is, save the trait that it implements.

mod expand;

use outbox_core::Kind;
use proc_macro2::TokenStream;

use crate::errors;
use crate::message::{model, parse};
use crate::options::Options;

pub(crate) const OPTIONS: Options = Options {
    owner: "a job",
    known: &["version", "upcast_from", "also_as", "expires", "serde", "crate"],
    name: "notifications.send_email",
    remark: ", behind its name: `#[job(\"notifications.send_email\", version = 2)]`; how it is run is said at its `#[subscriber]`",
};

pub(crate) fn attribute(args: TokenStream, item: &TokenStream) -> TokenStream {
    match syn::parse2(item.clone()) {
        Ok(parsed) => expand::job(&model::check(Kind::Job, parse::args(args, &OPTIONS), parsed)),
        Err(_) => errors::refuse(
            item,
            "`#[job]` goes on a struct or an enum; its handler is an `async fn` under `#[subscriber(job = \"..\")]`",
        ),
    }
}
