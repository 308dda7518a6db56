//! Stored names as they are written in attributes. The grammar is `outbox_core::name`'s.

use outbox_core::name;
use outbox_core::wire_name::version_at_the_end;
use syn::LitStr;

use crate::errors::Errors;

/// What a name is for.
pub(crate) struct NameOf {
    /// `an event's name`
    pub(crate) what: &'static str,
    /// `resource.what_happened`
    pub(crate) form: &'static str,
    /// `order.placed`
    pub(crate) example: &'static str,
    /// Where the version is said, where the name may not end in one.
    pub(crate) version: Option<&'static str>,
}

pub(crate) const EVENT: NameOf =
    NameOf { what: "an event's name", form: "resource.what_happened", example: "order.placed", version: Some(BEHIND) };
const SUBSCRIBED: NameOf = NameOf { version: Some(OF_THE_TYPE), ..EVENT };
pub(crate) const JOB: NameOf =
    NameOf { what: "a job's name", form: "module.job", example: "notifications.send_email", version: Some(BEHIND) };
pub(crate) const HANDLER: NameOf =
    NameOf { what: "a handler's name", form: "module.handler", example: "inventory.take", version: None };

pub(crate) const SCHEDULE: NameOf = NameOf {
    what: "a schedule's name",
    form: "module.what_it_does",
    example: "inventory.low_stock_scan",
    version: None,
};

const BEHIND: &str = "say `version = ..` behind the name";
const OF_THE_TYPE: &str = "it is that of the payload's type, or `version = ..` beside an `Envelope`";

/// Refuses what is no stored name.
pub(crate) fn check(said: &LitStr, of: &NameOf, errors: &mut Errors) {
    let text = said.value();
    let NameOf { what, form, example, version } = of;
    if name::is_name(&text) {
        // S2-4: the version has one source.
        if let (Some(where_said), Some((name, number))) = (version, version_at_the_end(&text)) {
            let advice = where_said.replace("..", &number.to_string());
            errors.at(said.span(), format!("`{text}` holds a version, and the stored name is `{name}`: {advice}"));
        }
        return;
    }
    if text.trim().is_empty() {
        errors.at(said.span(), format!("{what} is missing between the quotes: for example `{example}`"));
        return;
    }
    if text.len() > name::MAX_LEN {
        errors.at(said.span(), format!("{what} has at most {} bytes, this one has {}", name::MAX_LEN, text.len()));
        return;
    }
    let advice = match name::suggestion(&text) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("for example `{example}`"),
    };
    let grammar = format!("`{form}`, lower-case words with underscores, joined by dots");
    errors.at(said.span(), format!("`{text}` is not {what} ({grammar}): {advice}"));
}

/// Refuses what is neither an event's name nor a pattern.
pub(crate) fn check_pattern(said: &LitStr, errors: &mut Errors) {
    let text = said.value();
    let of_a_broker = [('>', "NATS"), ('#', "RabbitMQ")].into_iter().find(|(wildcard, _)| text.contains(*wildcard));
    let advice = "write `order.*` for every event of `order`, or `*` for every event";
    if let Some((wildcard, broker)) = of_a_broker {
        errors.at(
            said.span(),
            format!("`{text}` is not a pattern here, where `{wildcard}` is {broker}'s wildcard: {advice}"),
        );
    } else if text.contains('*') && !name::is_pattern(&text) {
        errors.at(said.span(), format!("`{text}` is not a pattern: {advice}"));
    } else if !text.contains('*') {
        check(said, &SUBSCRIBED, errors);
    }
}
