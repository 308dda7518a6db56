//! A handler whose attribute and signature were checked. What depends on types is checked by the code that `expand`
//! writes; here is all that tokens can tell.

use outbox_core::CatchUp;
use outbox_core::schedule::Overlap;
use proc_macro2::Span;
use syn::{GenericArgument, LitStr, Path, PathArguments, Type};

use crate::handler::run::Settings;
use crate::handler::signature::Parameters;
use crate::paths::Facade;

pub(crate) struct Handler {
    pub(crate) facade: Facade,
    pub(crate) source: Source,
    /// `None`: the module and the function make it.
    pub(crate) name: Option<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) idempotent: Option<LitStr>,
    pub(crate) settings: Settings,
    /// What is taken from the delivery.
    pub(crate) parameters: Parameters,
}

/// What the handler receives.
pub(crate) enum Source {
    Message(Box<Message>),
    Schedule(Schedule),
}

/// An event or a job, as the first parameter.
pub(crate) struct Message {
    pub(crate) input: Type,
    pub(crate) said: Said,
    pub(crate) version: Version,
    pub(crate) in_transaction: bool,
    pub(crate) when: Option<Path>,
}

/// How the attribute names it.
pub(crate) enum Said {
    /// One event.
    Event(LitStr),
    /// `order.*` or `*`
    Pattern(LitStr),
    /// One job.
    Job(LitStr),
}

/// Which version a handler of an undecoded event takes.
pub(crate) struct Version {
    pub(crate) number: u32,
    /// Where it is said.
    pub(crate) said: Option<Span>,
}

/// When the handler is due, and what becomes of its other ticks.
pub(crate) struct Schedule {
    pub(crate) cadence: Cadence,
    pub(crate) catch_up: CatchUp,
    pub(crate) overlap: Overlap,
}

pub(crate) enum Cadence {
    /// `None`: on the clocks of UTC.
    Cron {
        line: LitStr,
        zone: Option<LitStr>,
    },
    Every(LitStr),
}

impl Said {
    pub(crate) fn text(&self) -> &LitStr {
        let (Self::Event(said) | Self::Pattern(said) | Self::Job(said)) = self;
        said
    }
}

impl Message {
    /// Whether one event is named by text alone. An alias of `Envelope` is not seen here; `Registry` then finds a name
    /// that no event has.
    pub(crate) fn names_by_text_alone(&self) -> bool {
        matches!(self.said, Said::Event(_)) && is_envelope(&self.input)
    }
}

/// `Envelope`, or a `Batch` of it.
fn is_envelope(ty: &Type) -> bool {
    let Type::Path(ty) = ty else { return false };
    let Some(last) = ty.path.segments.last() else { return false };
    match &last.arguments {
        PathArguments::AngleBracketed(inner) if last.ident == "Batch" => {
            matches!(inner.args.first(), Some(GenericArgument::Type(inner)) if is_envelope(inner))
        }
        _ => last.ident == "Envelope",
    }
}

impl Handler {
    /// What it takes of an event or a job; `None` for a scheduled function.
    pub(crate) fn message(&self) -> Option<&Message> {
        match &self.source {
            Source::Message(message) => Some(message),
            Source::Schedule(_) => None,
        }
    }

    /// Whether it runs inside of the publish.
    pub(crate) fn is_in_transaction(&self) -> bool {
        self.message().is_some_and(|message| message.in_transaction)
    }
}
