//! `"order.placed", version = 2, upcast_from = OrderPlacedV1, also_as = OrderPlacedV1, owner = "shop", serde = false, crate = ::path`

use outbox_core::name;
use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::{LitBool, LitInt, LitStr, Path, Token};

use crate::options::{self, Options};
use crate::wants;

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
    if let Some(error) = no_name(input, options) {
        return Err(error);
    }
    if input.peek(LitStr) {
        args.name = Some(input.parse()?);
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(options::missing_comma("its name", input));
        }
        input.parse::<Option<Token![,]>>()?;
    }
    options.parse_each(input, |key, input| {
        match key.word.as_str() {
            "version" => args.version = Some(key.value(input)?),
            "upcast_from" => args.upcast_from = Some(key.path(input)?),
            "also_as" => args.also_as = Some(key.path(input)?),
            "expires" => args.expires = Some(key.text(input)?),
            "owner" => args.owner = Some(key.text(input)?),
            "serde" => args.serde = Some(key.value(input)?),
            _ => args.krate = Some(key.path(input)?),
        }
        Ok(())
    })?;
    Ok(args)
}

/// A name is a text: `order.placed`, `OrderPlaced` and `42` are none.
fn no_name(input: ParseStream<'_>, options: &Options) -> Option<syn::Error> {
    if input.is_empty() || input.peek(LitStr) {
        return None;
    }
    let said = options::until_comma(&input.fork()).ok()?;
    let shown = said.to_string().replace(' ', "");
    let parts: Vec<_> = said.clone().into_iter().collect();
    let is_name = match parts.as_slice() {
        [TokenTree::Literal(_)] => true,
        parts => parts.iter().all(|part| match part {
            TokenTree::Ident(_) => true,
            TokenTree::Punct(dot) => dot.as_char() == '.',
            TokenTree::Literal(_) | TokenTree::Group(_) => false,
        }),
    };
    if !is_name || options.known.contains(&shown.as_str()) || wants::place(&shown).is_some() {
        return None;
    }
    let meant = if name::is_name(&shown) { Some(shown) } else { name::suggestion(&shown) };
    let meant =
        meant.map_or_else(|| format!("for example `\"{}\"`", options.name), |name| format!("write `\"{name}\"`"));
    Some(syn::Error::new_spanned(said, format!("a name is a text in quotes: {meant}")))
}
