//! Which of serde's derives are still to be added to a payload, and what it may not ask of serde.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, Token};

use crate::errors::Errors;

/// What is added above the user's type.
#[derive(Default)]
pub(crate) struct Derives {
    pub(crate) serialize: bool,
    pub(crate) deserialize: bool,
    /// Whether serde must be told where it is.
    pub(crate) says_where: bool,
}

impl Derives {
    /// Each trait that no `#[derive]` in `attrs` names.
    pub(crate) fn missing_from(attrs: &[Attribute]) -> Self {
        let serialize = !mentions(attrs, "derive", "Serialize");
        let deserialize = !mentions(attrs, "derive", "Deserialize");
        // A type that derives one of them itself has serde as a dependency, and `crate` would redirect that derive too.
        let says_where = serialize && deserialize && !mentions(attrs, "serde", "crate");
        Self { serialize, deserialize, says_where }
    }
}

/// S2-11: a field that is added later must not break whoever does not know it yet.
pub(crate) fn check(attrs: &[Attribute], one: &str, errors: &mut Errors) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        // What cannot be read here is for the derive itself to refuse.
        let _ = attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("deny_unknown_fields") {
                let text = format!(
                    "a binary that does not know a field yet must still read {one}: with `deny_unknown_fields` every field that is added \
                     later breaks those that are running; leave it out"
                );
                errors.on(&meta.path, text);
            }
            skip_value(&meta)
        });
    }
}

/// Whether an attribute `#[list(..)]` holds an entry whose path ends in `word`.
fn mentions(attrs: &[Attribute], list: &str, word: &str) -> bool {
    attrs.iter().filter(|attr| attr.path().is_ident(list)).any(|attr| {
        let mut found = false;
        // What cannot be read here is for the derive itself to refuse.
        let _ = attr.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|segment| segment.ident == word);
            skip_value(&meta)
        });
        found
    })
}

/// Steps over `= value` or `(..)`, so that the entries behind it are seen.
fn skip_value(meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        let inner;
        syn::parenthesized!(inner in meta.input);
        inner.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(())
}
