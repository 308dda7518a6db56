//! `"order.placed", version = 2, upcast_from = OrderPlacedV1, also_as = OrderPlacedV1, owner = "shop", serde = false, crate = ::path`

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, LitBool, LitInt, LitStr, Path, Token};

use crate::options::{self, Options};

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) name: Option<LitStr>,
    pub(crate) version: Option<LitInt>,
    pub(crate) upcast_from: Option<Path>,
    pub(crate) also_as: Option<Path>,
    /// Of a job: how old it may become.
    pub(crate) expires: Option<LitStr>,
    /// Of an event: the service that may publish it.
    pub(crate) owner: Option<LitStr>,
    pub(crate) serde: Option<LitBool>,
    pub(crate) krate: Option<Path>,
}

/// Reads the arguments of an attribute with these options.
pub(crate) fn args(tokens: TokenStream, options: &Options) -> syn::Result<Args> {
    (|input: ParseStream<'_>| read(input, options)).parse2(tokens)
}

fn read(input: ParseStream<'_>, options: &Options) -> syn::Result<Args> {
    let mut args = Args::default();
    if input.peek(Ident) && input.peek2(Token![.]) {
        return Err(without_quotes(input)?);
    }
    if input.peek(LitStr) {
        args.name = Some(input.parse()?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    options.parse_each(input, |key, input| {
        match key {
            "version" => args.version = Some(options::value(input)?),
            "upcast_from" => args.upcast_from = Some(options::path(input)?),
            "also_as" => args.also_as = Some(options::path(input)?),
            "expires" => args.expires = Some(options::value(input)?),
            "owner" => args.owner = Some(options::value(input)?),
            "serde" => args.serde = Some(options::value(input)?),
            _ => args.krate = Some(options::path(input)?),
        }
        Ok(())
    })?;
    Ok(args)
}

/// A name is a text, and `order.placed` is none.
fn without_quotes(input: ParseStream<'_>) -> syn::Result<syn::Error> {
    let words = Punctuated::<Ident, Token![.]>::parse_separated_nonempty(input)?;
    let name: Vec<_> = words.iter().map(ToString::to_string).collect();
    Ok(syn::Error::new_spanned(&words, format!("a name is a text: write `\"{}\"`", name.join("."))))
}
