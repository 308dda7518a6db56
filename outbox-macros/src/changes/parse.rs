//! `#[changes(secret)]` above a field, `#[changes(crate = ::path)]` above the struct.

use syn::parse::ParseStream;
use syn::{Attribute, Path, Token};

use crate::errors::Errors;
use crate::options::{Key, Options};

const OF_A_FIELD: Options = Options { owner: "a field of `Changes`", known: &["secret", "skip"], name: "", remark: "" };
const OF_THE_STRUCT: Options = Options {
    owner: "a struct under `Changes`",
    known: &["crate"],
    name: "",
    remark: "; `secret` and `skip` stand above a field",
};

/// Whether the field is left out.
pub(crate) fn is_left_out(attrs: &[Attribute], errors: &mut Errors) -> bool {
    let mut left_out = false;
    each(attrs, &OF_A_FIELD, errors, |key, input| {
        if input.peek(Token![=]) || input.peek(syn::token::Paren) {
            return Err(input.error(format!("`{0}` stands alone: write `#[changes({0})]`", key.word)));
        }
        left_out = true;
        Ok(())
    });
    left_out
}

/// Where the facade is, when it is said.
pub(crate) fn krate(attrs: &[Attribute], errors: &mut Errors) -> Option<Path> {
    let mut krate = None;
    each(attrs, &OF_THE_STRUCT, errors, |key, input| {
        krate = Some(key.path(input)?);
        Ok(())
    });
    krate
}

fn each(
    attrs: &[Attribute],
    options: &Options,
    errors: &mut Errors,
    mut take: impl FnMut(&Key, ParseStream<'_>) -> syn::Result<()>,
) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("changes")) {
        let read = attr.parse_args_with(|input: ParseStream<'_>| {
            if input.is_empty() {
                let words = options.known.join("` or `");
                return Err(syn::Error::new_spanned(attr, format!("it says nothing yet: `{words}`")));
            }
            options.parse_each(input, &mut take)
        });
        if let Err(error) = read {
            errors.push(error);
        }
    }
}
