//! `key = value` lists: each option known, each said once.

use std::collections::HashSet;

use outbox_core::text::closest;
use proc_macro2::Ident;
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};

/// Which options an attribute has.
pub(crate) struct Options {
    /// `a subscriber`
    pub(crate) owner: &'static str,
    pub(crate) known: &'static [&'static str],
    /// What else the message on an unknown option should say.
    pub(crate) remark: &'static str,
}

impl Options {
    /// Hands each option to `take`, which reads what stands behind its key.
    pub(crate) fn parse_each(
        &self,
        input: ParseStream<'_>,
        mut take: impl FnMut(&str, ParseStream<'_>) -> syn::Result<()>,
    ) -> syn::Result<()> {
        let mut said = HashSet::new();
        while !input.is_empty() {
            // `parse_any`, because `crate` is a keyword
            let key = input.call(Ident::parse_any)?;
            let word = key.to_string();
            if !self.known.contains(&word.as_str()) {
                return Err(syn::Error::new(key.span(), self.unknown(&word)));
            }
            take(&word, input)?;
            if !said.insert(word) {
                return Err(syn::Error::new(key.span(), format!("`{key}` is said twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }

    fn unknown(&self, word: &str) -> String {
        let Self { owner, known, remark } = self;
        let advice = match closest(word, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("{owner} has {}{remark}", listed(known)),
        };
        format!("unknown option `{word}`: {advice}")
    }
}

/// `` `a`, `b` and `c` ``
fn listed(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// `= value`
pub(crate) fn value<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// `= path::to::something`
pub(crate) fn path(input: ParseStream<'_>) -> syn::Result<syn::Path> {
    input.parse::<Token![=]>()?;
    input.call(syn::Path::parse_mod_style)
}
