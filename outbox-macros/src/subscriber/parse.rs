//! `event = "order.placed", max_attempts = 8, backoff = exponential("30s", max = "1h")`

use outbox_core::name;
use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::{LitInt, LitStr, Path};

use crate::handler::names;
use crate::handler::run::RunArgs;
use crate::options::{self, Key, Options};

pub(crate) const OPTIONS: Options = Options {
    owner: "a subscriber",
    known: &[
        "event",
        "job",
        "name",
        "aliases",
        "version",
        "in_transaction",
        "idempotent",
        "max_attempts",
        "backoff",
        "timeout",
        "priority",
        "concurrency",
        "batch",
        "unknown",
        "when",
        "crate",
    ],
    name: "",
    remark: "",
};

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) event: Option<LitStr>,
    pub(crate) job: Option<LitStr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) version: Option<LitInt>,
    pub(crate) in_transaction: bool,
    pub(crate) idempotent: Option<LitStr>,
    pub(crate) run: RunArgs,
    pub(crate) when: Option<Path>,
    pub(crate) krate: Option<Path>,
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if let Ok(bare) = input.fork().parse::<LitStr>() {
            let text = bare.value();
            let why = format!("say what `{text}` is: write `event = \"{text}\"` or `job = \"{text}\"`");
            return Err(syn::Error::new(bare.span(), why));
        }
        let first = options::until_comma(&input.fork())?;
        if let Some(said) = as_a_name(&first) {
            let why =
                format!("say what `{said}` is, by its stored name: write `event = \"{said}\"` or `job = \"{said}\"`");
            return Err(syn::Error::new_spanned(first, why));
        }
        let mut args = Self::default();
        OPTIONS.parse_each(input, |key, input| args.take(key, input))?;
        Ok(args)
    }
}

impl Args {
    fn take(&mut self, key: &Key, input: ParseStream<'_>) -> syn::Result<()> {
        match key.word.as_str() {
            "event" => self.event = Some(key.text(input)?),
            "job" => self.job = Some(key.text(input)?),
            "name" => self.name = Some(key.text(input)?),
            "aliases" => self.aliases = names::aliases(input)?,
            "version" => self.version = Some(key.value(input)?),
            "in_transaction" => self.in_transaction = key.alone(input)?,
            "idempotent" => self.idempotent = Some(key.text(input)?),
            "when" => self.when = Some(key.path(input)?),
            "crate" => self.krate = Some(key.path(input)?),
            _ => self.run.take(key, input)?,
        }
        Ok(())
    }
}

/// `order.placed` and `OrderPlaced`, which no option's word looks like.
fn as_a_name(said: &TokenStream) -> Option<String> {
    let shown = said.to_string().replace(' ', "");
    if name::is_name(&shown) {
        return Some(shown);
    }
    let is_type = shown.starts_with(char::is_uppercase) && shown.chars().all(char::is_alphanumeric);
    is_type.then(|| name::suggestion(&shown)).flatten()
}
