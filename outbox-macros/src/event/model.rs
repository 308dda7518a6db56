//! An event whose attribute was checked.

use outbox_core::Kind;
use syn::DeriveInput;

use crate::event::subject::{self, Subject};
use crate::message::model::{self, Message};
use crate::message::parse::Args;

pub(crate) struct Event {
    pub(crate) message: Message,
    pub(crate) subject: Subject,
}

pub(crate) fn check(args: syn::Result<Args>, item: DeriveInput) -> Event {
    let mut message = model::check(Kind::Event, args, item);
    let subject = subject::take(&mut message.item.data, &mut message.errors);
    Event { message, subject }
}
