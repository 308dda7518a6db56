//! `event = "order.placed", max_attempts = 8, backoff = exponential("30s", max = "1h")`

use syn::parse::{Parse, ParseStream};
use syn::{LitInt, LitStr, Path, Token};

use crate::handler::names;
use crate::handler::run::RunArgs;
use crate::options::{self, Options};

const OPTIONS: Options = Options {
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
        let mut args = Self::default();
        OPTIONS.parse_each(input, |key, input| args.take(key, input))?;
        Ok(args)
    }
}

impl Args {
    fn take(&mut self, key: &str, input: ParseStream<'_>) -> syn::Result<()> {
        match key {
            "event" => self.event = Some(options::value(input)?),
            "job" => self.job = Some(options::value(input)?),
            "name" => self.name = Some(options::value(input)?),
            "aliases" => self.aliases = names::aliases(input)?,
            "version" => self.version = Some(options::value(input)?),
            "in_transaction" => self.in_transaction = alone("in_transaction", input)?,
            "idempotent" => self.idempotent = Some(options::value(input)?),
            "when" => self.when = Some(when(input)?),
            "crate" => self.krate = Some(options::path(input)?),
            _ => self.run.take(key, input)?,
        }
        Ok(())
    }
}

/// A word without a value.
fn alone(word: &str, input: ParseStream<'_>) -> syn::Result<bool> {
    if input.peek(Token![=]) || input.peek(syn::token::Paren) {
        return Err(input.error(format!("`{word}` stands alone, without a value")));
    }
    Ok(true)
}

fn when(input: ParseStream<'_>) -> syn::Result<Path> {
    input.parse::<Token![=]>()?;
    let span = input.span();
    input
        .call(Path::parse_mod_style)
        .map_err(|_| syn::Error::new(span, "`when` names a function: write `when = is_large`"))
}
