//! What serde is told about a field when it is written, and nothing about its being read.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

/// Of the struct.
pub(crate) const OF_THE_STRUCT: &[&str] = &["rename_all"];
/// Of a field.
pub(crate) const OF_A_FIELD: &[&str] =
    &["rename", "flatten", "skip", "skip_serializing", "skip_serializing_if", "serialize_with", "with"];

/// The entries of `#[serde(..)]` that are among `kept`.
pub(crate) fn kept(attrs: &[Attribute], kept: &[&str]) -> Vec<Meta> {
    attrs
        .iter()
        .filter(|attr| attr.path().is_ident("serde"))
        // What cannot be read here is for serde's own derive to refuse.
        .filter_map(|attr| attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok())
        .flatten()
        .filter(|meta| kept.iter().any(|word| meta.path().is_ident(word)))
        .collect()
}
