//! The attributes of `outbox`: tokens in, tokens out.
//!
//! Each, and the derive `Changes`, has a folder, and in it the same three steps: `parse` (tokens to arguments), `model`
//! (arguments and item to a checked model; the only one that reports mistakes), `expand` (model to tokens; the only one
//! that quotes). What events and jobs share is in `message`, what subscribers and scheduled functions share in `handler`.
//! `options` reads a list of options, and `wants` says what each option is and where it belongs.
//! Rules that can be evaluated without tokens are functions of `outbox-core`.
//!
//! Users meet these attributes through the facade `outbox`, which documents them.
#![allow(missing_docs, reason = "the facade documents what it re-exports, where its doctests can run")]

mod changes;
mod errors;
mod event;
mod handler;
mod job;
mod load;
mod message;
mod name;
mod options;
mod paths;
mod scheduled;
mod subscriber;
mod value;
mod wants;

use proc_macro::TokenStream;

#[proc_macro_attribute]
pub fn event(args: TokenStream, item: TokenStream) -> TokenStream {
    event::attribute(args.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn job(args: TokenStream, item: TokenStream) -> TokenStream {
    job::attribute(args.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn scheduled(args: TokenStream, item: TokenStream) -> TokenStream {
    scheduled::attribute(args.into(), &item.into()).into()
}

#[proc_macro_attribute]
pub fn subscriber(args: TokenStream, item: TokenStream) -> TokenStream {
    subscriber::attribute(args.into(), &item.into()).into()
}

#[proc_macro_derive(Changes, attributes(changes, serde))]
pub fn changes(item: TokenStream) -> TokenStream {
    changes::derive(item.into()).into()
}

/// Not public API: one name of `outbox::modules!`.
#[doc(hidden)]
#[proc_macro]
pub fn __load(name: TokenStream) -> TokenStream {
    load::load(name.into()).into()
}
