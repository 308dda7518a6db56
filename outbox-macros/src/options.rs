//! `key = value` lists: each option known, each said once, and every mistake among them told of.

use std::collections::HashSet;

use outbox_core::text::closest;
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};

use crate::errors::Errors;
use crate::wants;

/// Which options an attribute has.
pub(crate) struct Options {
    /// `a subscriber`
    pub(crate) owner: &'static str,
    pub(crate) known: &'static [&'static str],
    /// The stored name of an example, of those that begin with their name.
    pub(crate) name: &'static str,
    /// What else the message on an unknown option should say.
    pub(crate) remark: &'static str,
}

/// One option's word, where the user wrote it.
pub(crate) struct Key {
    pub(crate) word: String,
    pub(crate) ident: Ident,
}

impl Options {
    /// Hands each option to `take`, which reads what stands behind its key.
    pub(crate) fn parse_each(
        &self,
        input: ParseStream<'_>,
        mut take: impl FnMut(&Key, ParseStream<'_>) -> syn::Result<()>,
    ) -> syn::Result<()> {
        let mut errors = Errors::default();
        let mut said = HashSet::new();
        while !input.is_empty() {
            if let Err(error) = self.parse_one(input, &mut said, &mut take) {
                errors.push(error);
                // What stands behind the next comma can be read all the same.
                until_comma(input)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        errors.into_result()
    }

    fn parse_one(
        &self,
        input: ParseStream<'_>,
        said: &mut HashSet<String>,
        take: &mut impl FnMut(&Key, ParseStream<'_>) -> syn::Result<()>,
    ) -> syn::Result<()> {
        // `parse_any`, because `crate` is a keyword
        let Ok(ident) = input.call(Ident::parse_any) else {
            let found = until_comma(input)?;
            let text = if found.is_empty() {
                "there is a comma too many".to_owned()
            } else {
                format!("here stands an option: `{}`", wants::example(self.known[0]))
            };
            return Err(if found.is_empty() { input.error(text) } else { syn::Error::new_spanned(found, text) });
        };
        let key = Key { word: ident.to_string(), ident };
        if !self.known.contains(&key.word.as_str()) {
            return Err(key.error(self.unknown(&key.word)));
        }
        take(&key, input)?;
        if !said.insert(key.word.clone()) {
            return Err(key.error(format!("`{}` is said twice", key.word)));
        }
        if input.is_empty() || input.peek(Token![,]) {
            return Ok(());
        }
        Err(missing_comma(&format!("`{}`", key.word), input))
    }

    fn unknown(&self, word: &str) -> String {
        let Self { owner, known, remark, .. } = self;
        if let Some(place) = wants::place(word) {
            return format!("{owner} has no `{word}`: {place}");
        }
        let advice = match closest(word, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("{owner} has {}{remark}", listed(known)),
        };
        format!("unknown option `{word}`: {advice}")
    }
}

impl Key {
    pub(crate) fn error(&self, text: impl std::fmt::Display) -> syn::Error {
        syn::Error::new(self.ident.span(), text)
    }

    /// `= "a text"`
    pub(crate) fn text(&self, input: ParseStream<'_>) -> syn::Result<syn::LitStr> {
        let said: syn::LitStr = self.value(input)?;
        // Why a handler may be run twice has a message of its own.
        if said.value().trim().is_empty() && self.word != "idempotent" {
            return Err(syn::Error::new(said.span(), wants::empty(&self.word)));
        }
        Ok(said)
    }

    /// `= value`, which stands for itself.
    pub(crate) fn value<T: Parse>(&self, input: ParseStream<'_>) -> syn::Result<T> {
        self.value_by(input, T::parse)
    }

    /// `= path::to::something`
    pub(crate) fn path(&self, input: ParseStream<'_>) -> syn::Result<syn::Path> {
        self.value_by(input, syn::Path::parse_mod_style)
    }

    /// Nothing stands behind it.
    pub(crate) fn alone(&self, input: ParseStream<'_>) -> syn::Result<bool> {
        if input.peek(Token![=]) || input.peek(syn::token::Paren) {
            return Err(self.error(format!("`{0}` stands alone: write `{0}`, without a value", self.word)));
        }
        Ok(true)
    }

    fn value_by<T>(&self, input: ParseStream<'_>, read: impl Fn(ParseStream<'_>) -> syn::Result<T>) -> syn::Result<T> {
        let is_said = input.peek(Token![=]);
        let ahead = input.fork();
        if is_said {
            ahead.parse::<Token![=]>()?;
        }
        let all = until_comma(&ahead)?;
        if all.is_empty() {
            return Err(self.error(wants::missing(&self.word)));
        }
        if !is_said {
            return Err(syn::Error::new_spanned(all, wants::behind_an_equals_sign(&self.word)));
        }
        input.parse::<Token![=]>()?;
        let ahead = input.fork();
        match read(&ahead) {
            // Behind a whole value a word is the next option; anything else is a part of a value of another kind.
            Ok(_) if ahead.is_empty() || ahead.peek(Token![,]) || ahead.peek(Ident::peek_any) => read(input),
            _ => Err(syn::Error::new_spanned(&all, wants::another(&self.word, &all))),
        }
    }
}

/// What stands before the next comma; it is passed over.
pub(crate) fn until_comma(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(tokens)
}

/// Two options, and nothing between them.
pub(crate) fn missing_comma(before: &str, input: ParseStream<'_>) -> syn::Error {
    input.error(format!("a comma is missing here, behind {before}"))
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

#[cfg(test)]
#[path = "options/tests.rs"]
mod tests;
