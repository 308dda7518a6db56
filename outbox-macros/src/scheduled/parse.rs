//! `cron = "0 3 * * *", tz = "Europe/Paris", catch_up = all(10), overlap = allow`

use proc_macro2::{Ident, Span};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, ExprLit, Lit, LitInt, LitStr, Path};

use crate::handler::names;
use crate::handler::run::RunArgs;
use crate::options::{Key, Options};

pub(crate) const OPTIONS: Options = Options {
    owner: "a scheduled function",
    known: &[
        "cron",
        "tz",
        "every",
        "name",
        "aliases",
        "catch_up",
        "overlap",
        "idempotent",
        "max_attempts",
        "backoff",
        "timeout",
        "priority",
        "concurrency",
        "unknown",
        "crate",
    ],
    name: "",
    remark: "",
};

const CATCH_UP: &str = "what becomes of missed ticks is `skip`, `latest` or `all(10)`";
const OVERLAP: &str = "what becomes of a tick while the former run has not ended is `skip` or `allow`";

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) cron: Option<LitStr>,
    pub(crate) tz: Option<LitStr>,
    pub(crate) every: Option<LitStr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) catch_up: Option<CatchUpArgs>,
    pub(crate) overlap: Option<OverlapArgs>,
    pub(crate) idempotent: Option<LitStr>,
    pub(crate) run: RunArgs,
    pub(crate) krate: Option<Path>,
}

/// `skip`, `latest` or `all(10)`
pub(crate) enum CatchUpArgs {
    Skip,
    Latest,
    All { most: LitInt, said: Span },
}

/// `skip` or `allow`
pub(crate) enum OverlapArgs {
    Skip,
    Allow,
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if let Ok(bare) = input.fork().parse::<LitStr>() {
            let text = bare.value();
            let key = if text.contains(' ') { "cron" } else { "every" };
            return Err(syn::Error::new(bare.span(), format!("say what `{text}` is: write `{key} = \"{text}\"`")));
        }
        let mut args = Self::default();
        OPTIONS.parse_each(input, |key, input| args.take(key, input))?;
        Ok(args)
    }
}

impl Args {
    fn take(&mut self, key: &Key, input: ParseStream<'_>) -> syn::Result<()> {
        match key.word.as_str() {
            "cron" => self.cron = Some(key.text(input)?),
            "tz" => self.tz = Some(key.text(input)?),
            "every" => self.every = Some(key.text(input)?),
            "name" => self.name = Some(key.text(input)?),
            "aliases" => self.aliases = names::aliases(input)?,
            "catch_up" => self.catch_up = Some(CatchUpArgs::read(&key.value(input)?)?),
            "overlap" => self.overlap = Some(OverlapArgs::read(&key.value(input)?)?),
            "idempotent" => self.idempotent = Some(key.text(input)?),
            "crate" => self.krate = Some(key.path(input)?),
            _ => self.run.take(key, input)?,
        }
        Ok(())
    }
}

impl CatchUpArgs {
    fn read(said: &Expr) -> syn::Result<Self> {
        let read = match said {
            Expr::Call(call) => match (word(&call.func), call.args.iter().collect::<Vec<_>>().as_slice()) {
                (Some(all), [Expr::Lit(ExprLit { lit: Lit::Int(most), .. })]) if all == "all" => {
                    Some(Self::All { most: most.clone(), said: all.span() })
                }
                _ => None,
            },
            other => word(other).and_then(|word| match word.to_string().as_str() {
                "skip" => Some(Self::Skip),
                "latest" => Some(Self::Latest),
                _ => None,
            }),
        };
        read.ok_or_else(|| syn::Error::new_spanned(said, CATCH_UP))
    }
}

impl OverlapArgs {
    fn read(said: &Expr) -> syn::Result<Self> {
        match word(said).map(Ident::to_string).as_deref() {
            Some("skip") => Ok(Self::Skip),
            Some("allow") => Ok(Self::Allow),
            _ => Err(syn::Error::new_spanned(said, OVERLAP)),
        }
    }
}

fn word(said: &Expr) -> Option<&Ident> {
    let Expr::Path(path) = said else { return None };
    path.path.get_ident()
}
