//! Its stored name, its earlier ones, and why running it twice is safe.

use proc_macro2::TokenStream;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{LitStr, Token, parenthesized};

use crate::errors::Errors;
use crate::name::{self, NameOf};

/// `("inventory.take", "inventory.reserve")`
pub(crate) fn aliases(input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    const WRITE: &str = "write `aliases(\"inventory.take\", \"inventory.reserve\")`";
    if !input.peek(syn::token::Paren) {
        return Err(syn::Error::new(input.span(), format!("earlier names stand in parentheses: {WRITE}")));
    }
    let list;
    let paren = parenthesized!(list in input);
    let tokens: TokenStream = list.fork().parse()?;
    let names = list.call(Punctuated::<LitStr, Token![,]>::parse_terminated);
    match names {
        Ok(names) if !names.is_empty() => Ok(names.into_iter().collect()),
        Ok(_) => Err(syn::Error::new(paren.span.join(), format!("no earlier name is said: {WRITE}"))),
        Err(_) => Err(syn::Error::new_spanned(tokens, format!("earlier names are texts in quotes: {WRITE}"))),
    }
}

pub(crate) fn check(name: Option<&LitStr>, aliases: &[LitStr], of: &NameOf, errors: &mut Errors) {
    if let Some(name) = name {
        name::check(name, of, errors);
    }
    for (index, alias) in aliases.iter().enumerate() {
        name::check(alias, of, errors);
        if aliases[..index].iter().any(|earlier| earlier.value() == alias.value()) {
            errors.at(alias.span(), format!("the alias `{}` is said twice", alias.value()));
        }
    }
}

/// S0-33: a handler must say why running it twice is safe, and blanks say nothing.
pub(crate) fn check_reason(idempotent: Option<&LitStr>, errors: &mut Errors) {
    if let Some(why) = idempotent.filter(|why| why.value().trim().is_empty()) {
        let text =
            "say why running this handler twice is safe, for example `idempotent = \"writes the same row again\"`";
        errors.at(why.span(), text);
    }
}
