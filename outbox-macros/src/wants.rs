//! What each option wants and where it belongs, for messages: an option is one thing, wherever it may be said.

use outbox_core::name;
use proc_macro2::TokenStream;

/// An option, what its value is, and a right use of it.
type Wanted = (&'static str, &'static str, &'static str);

const WANTED: [Wanted; 26] = [
    ("version", NUMBER, "version = 2"),
    ("upcast_from", "the type of an earlier version", "upcast_from = OrderPlacedV1"),
    ("also_as", "the type of an earlier version", "also_as = OrderPlacedV1"),
    ("owner", "the name of the service that publishes it, a text in quotes", "owner = \"policy\""),
    ("expires", TIME, "expires = \"10m\""),
    ("serde", "`false` for a type that implements serde's traits itself", "serde = false"),
    ("crate", "the path of the crate `outbox`", "crate = ::outbox"),
    ("event", "an event's name or a pattern, a text in quotes", "event = \"order.placed\""),
    ("job", "a job's name, a text in quotes", "job = \"notifications.send_email\""),
    ("name", "the stored name, a text in quotes", "name = \"inventory.take\""),
    ("aliases", "earlier names, texts in parentheses", "aliases(\"inventory.take\")"),
    ("in_transaction", "a word that stands alone", "in_transaction"),
    ("idempotent", "why running it twice is safe, a text in quotes", "idempotent = \"writes the same row again\""),
    ("max_attempts", NUMBER, "max_attempts = 5"),
    (
        "backoff",
        "`fixed(\"10s\")` or one that grows from a first delay to a longest",
        "backoff = exponential(\"30s\", max = \"1h\")",
    ),
    ("timeout", TIME, "timeout = \"20s\""),
    ("priority", NUMBER, "priority = 1"),
    ("concurrency", NUMBER, "concurrency = 4"),
    ("batch", NUMBER, "batch = 100"),
    ("unknown", "what becomes of a job whose call was broken off", "unknown = park"),
    ("when", "the name of a function that is asked about each event", "when = is_large"),
    ("cron", "a line of cron, a text in quotes", "cron = \"0 3 * * *\""),
    ("tz", "a time zone, a text in quotes", "tz = \"Europe/Paris\""),
    ("every", TIME, "every = \"5m\""),
    ("catch_up", "`skip`, `latest` or `all(10)`, for ticks that were missed", "catch_up = latest"),
    ("overlap", "`skip` or `allow`, for a tick while the former run has not ended", "overlap = skip"),
];

const NUMBER: &str = "a whole number, without quotes";
const TIME: &str = "a time, a text in quotes";

/// Options and where they are said. `..` stands for the option with a value.
const PLACES: [(&[&str], &str); 10] = [
    (
        &["expires"],
        "how old a command may become is said at its type, `#[job(\"notifications.send_email\", ..)]`; an event never becomes too old",
    ),
    (
        &["owner"],
        "which service publishes an event is said at its type, `#[event(\"policy.issued\", ..)]`; a job is enqueued by whoever links it",
    ),
    (&["upcast_from", "also_as", "serde"], "it is said at the message's type, `#[event(\"order.placed\", ..)]`"),
    (
        &["name"],
        "the stored name stands first, by itself: `#[event(\"order.placed\")]`, `#[job(\"notifications.send_email\")]`",
    ),
    (&["version"], "the version is that of a message, and a scheduled function is called by none"),
    (&["event", "job"], "what a function handles is said at the function, `#[subscriber(..)]`"),
    (
        &["aliases", "in_transaction", "batch", "when"],
        "it is said at the function that handles a message, `#[subscriber(event = \"order.placed\", ..)]`",
    ),
    (
        &["idempotent", "max_attempts", "backoff", "timeout", "priority", "concurrency", "unknown"],
        "how a message is handled is said at the function, `#[subscriber(event = \"order.placed\", ..)]`",
    ),
    (&["cron", "every"], "it is said at a function that a clock calls, `#[scheduled(..)]`"),
    (
        &["tz", "catch_up", "overlap"],
        "it is said at a function that a clock calls, `#[scheduled(cron = \"0 3 * * *\", ..)]`",
    ),
];

/// What is said where the option is none of this attribute's, but one of another's.
pub(crate) fn place(word: &str) -> Option<String> {
    let (_, place) = PLACES.iter().find(|(words, _)| words.contains(&word))?;
    Some(place.replace("..", example(word)))
}

/// `version = 2`
pub(crate) fn example(word: &str) -> &str {
    let (_, example) = wanted(word);
    if example.is_empty() { word } else { example }
}

/// There is no value.
pub(crate) fn missing(word: &str) -> String {
    let (what, example) = wanted(word);
    format!("`{word}` needs a value, {what}: write `{example}`")
}

/// There is one, of another form than `= value`.
pub(crate) fn behind_an_equals_sign(word: &str) -> String {
    let (what, example) = wanted(word);
    format!("the value of `{word}`, {what}, stands behind `=`: write `{example}`")
}

/// The text says nothing.
pub(crate) fn empty(word: &str) -> String {
    let (what, example) = wanted(word);
    format!("`{word}` is empty, and should be {what}: write for example `{example}`")
}

/// The value is of another kind.
pub(crate) fn another(word: &str, said: &TokenStream) -> String {
    let (what, example) = wanted(word);
    match meant(word, what, said) {
        Some(meant) => format!("`{word}` is {what}: write `{word} = {meant}`"),
        None => format!("`{word}` is {what}: write for example `{example}`"),
    }
}

fn wanted(word: &str) -> (&'static str, &'static str) {
    let found = WANTED.iter().find(|(known, ..)| *known == word);
    found.map_or(("", ""), |(_, what, example)| (what, example))
}

/// The user's own value as it should have been: a name that was left without quotes, or a number within them.
fn meant(word: &str, what: &str, said: &TokenStream) -> Option<String> {
    let shown = said.to_string();
    if what == NUMBER {
        let digits = shown.strip_prefix('"')?.strip_suffix('"')?;
        return (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.to_owned());
    }
    let name = shown.replace(' ', "");
    let is_name = match word {
        "owner" => name::is_service(&name) && !matches!(name.as_str(), "true" | "false"),
        "event" | "job" | "name" => name::is_name(&name),
        _ => false,
    };
    is_name.then(|| format!("\"{name}\""))
}
