//! `event = "order.placed", max_attempts = 8, backoff = exponential("30s", max = "1h")`

use proc_macro2::{Ident, Span};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, Lit, LitInt, LitStr, Path, Token, parenthesized};

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
        "when",
        "crate",
    ],
    remark: "",
};

const BACKOFF: &str = "a backoff is `exponential(\"30s\", max = \"1h\")` or `fixed(\"10s\")`";

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
    pub(crate) max_attempts: Option<LitInt>,
    pub(crate) backoff: Option<BackoffArgs>,
    pub(crate) timeout: Option<LitStr>,
    pub(crate) priority: Option<LitInt>,
    pub(crate) concurrency: Option<LitInt>,
    pub(crate) when: Option<Path>,
    pub(crate) krate: Option<Path>,
}

/// `exponential("30s", max = "1h")` or `fixed("10s")`
pub(crate) enum BackoffArgs {
    Exponential { base: LitStr, max: LitStr },
    Fixed { every: LitStr },
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
            "aliases" => self.aliases = aliases(input)?,
            "version" => self.version = Some(options::value(input)?),
            "in_transaction" => self.in_transaction = alone("in_transaction", input)?,
            "idempotent" => self.idempotent = Some(options::value(input)?),
            "max_attempts" => self.max_attempts = Some(options::value(input)?),
            "backoff" => self.backoff = Some(options::value(input)?),
            "timeout" => self.timeout = Some(options::value(input)?),
            "priority" => self.priority = Some(options::value(input)?),
            "concurrency" => self.concurrency = Some(options::value(input)?),
            "when" => self.when = Some(when(input)?),
            _ => self.krate = Some(options::path(input)?),
        }
        Ok(())
    }
}

/// `("inventory.take", "inventory.reserve")`
fn aliases(input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    const FORM: &str = "earlier names stand in parentheses: write `aliases(\"inventory.take\")`";
    if !input.peek(syn::token::Paren) {
        return Err(syn::Error::new(input.span(), FORM));
    }
    let list;
    parenthesized!(list in input);
    let names = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?;
    Ok(names.into_iter().collect())
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

impl Parse for BackoffArgs {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let said: Expr = input.parse()?;
        Self::read(&said).ok_or_else(|| syn::Error::new_spanned(&said, BACKOFF))
    }
}

impl BackoffArgs {
    /// Where it is said.
    pub(crate) fn span(&self) -> Span {
        let (Self::Exponential { base: said, .. } | Self::Fixed { every: said }) = self;
        said.span()
    }

    fn read(said: &Expr) -> Option<Self> {
        let Expr::Call(call) = said else { return None };
        let arguments: Vec<_> = call.args.iter().collect();
        match (word(&call.func)?.as_str(), arguments.as_slice()) {
            ("fixed", [every]) => Some(Self::Fixed { every: text(every)? }),
            ("exponential", [base, Expr::Assign(longest)]) if word(&longest.left)? == "max" => {
                Some(Self::Exponential { base: text(base)?, max: text(&longest.right)? })
            }
            _ => None,
        }
    }
}

fn word(said: &Expr) -> Option<String> {
    let Expr::Path(path) = said else { return None };
    path.path.get_ident().map(Ident::to_string)
}

fn text(said: &Expr) -> Option<LitStr> {
    match said {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}
