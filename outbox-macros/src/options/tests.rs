//! Every option of every attribute, said in each wrong way: the message is ours, and holds a right use.

use syn::parse::Parser as _;

use crate::wants;

/// The attribute, and the options that it has.
type Attribute = (&'static str, &'static [&'static str], fn(&str) -> Option<String>);

const ATTRIBUTES: [Attribute; 4] = [
    ("event", crate::event::OPTIONS.known, of_an_event),
    ("job", crate::job::OPTIONS.known, of_a_job),
    ("subscriber", crate::subscriber::parse::OPTIONS.known, of_a_subscriber),
    ("scheduled", crate::scheduled::parse::OPTIONS.known, of_a_schedule),
];

/// Values of every kind; those that the option takes are no mistake.
const VALUES: [&str; 14] = [
    "policy",
    "order.placed",
    "10",
    "2.5",
    "-1",
    "\"\"",
    "\" \"",
    "\"10\"",
    "true",
    "Type<Of>",
    "[\"a\"]",
    "|x| true",
    "concat!(\"a\")",
    "=",
];

fn message<T>(read: syn::Result<T>) -> Option<String> {
    let all: Vec<_> = read.err()?.into_iter().map(|error| error.to_string()).collect();
    Some(all.join("; "))
}

fn of_an_event(said: &str) -> Option<String> {
    of_a_message(outbox_core::Kind::Event, &crate::event::OPTIONS, said)
}

fn of_a_job(said: &str) -> Option<String> {
    of_a_message(outbox_core::Kind::Job, &crate::job::OPTIONS, said)
}

fn of_a_message(kind: outbox_core::Kind, options: &super::Options, said: &str) -> Option<String> {
    let args = crate::message::parse::args(format!("\"order.placed\", {said}").parse().expect("tokens"), options);
    let item = syn::parse_str("struct OrderPlaced { id: u64 }").expect("an item");
    message(crate::message::model::check(kind, args, item).errors.into_result())
}

fn of_a_subscriber(said: &str) -> Option<String> {
    let function = function("async fn take(order: OrderPlaced) -> HandlerResult { Ok(()) }");
    let event = if said.starts_with("event") || said.starts_with("job") { "" } else { "event = \"order.placed\", " };
    let args = syn::parse_str(&format!("{event}{said}"));
    message(
        crate::subscriber::model::check(args, &function).map_or_else(crate::errors::Errors::into_result, |_| Ok(())),
    )
}

fn of_a_schedule(said: &str) -> Option<String> {
    let function = function("async fn take() -> HandlerResult { Ok(()) }");
    let cron = if said.starts_with("cron") || said.starts_with("every") { "" } else { "cron = \"0 3 * * *\", " };
    let args = syn::parse_str(&format!("{cron}{said}"));
    message(crate::scheduled::model::check(args, &function).map_or_else(crate::errors::Errors::into_result, |_| Ok(())))
}

fn function(text: &str) -> crate::handler::function::Function {
    syn::parse_str(text).expect("a function")
}

/// Words that `syn` and rustc would have said.
fn is_ours(text: &str) -> bool {
    !["expected", "unexpected", "``"].iter().any(|word| text.contains(word))
}

/// No value is left to the parser's own words, and where one is missing the message shows a right use.
#[test]
fn every_wrong_value_is_told_of_in_words() {
    let mut refused = 0;
    for (attribute, known, judge) in ATTRIBUTES {
        for option in known.iter().filter(|option| !matches!(**option, "in_transaction" | "aliases")) {
            for missing in [
                (*option).to_owned(),
                format!("{option} ="),
                format!("{option}(1)"),
                format!("{option}, crate = ::outbox"),
            ] {
                let text = judge(&missing).unwrap_or_else(|| panic!("#[{attribute}({missing})] is taken"));
                assert!(is_ours(&text), "#[{attribute}({missing})]: {text}");
                assert!(text.contains(wants::example(option)), "#[{attribute}({missing})]: {text}");
            }
            for value in VALUES {
                let Some(text) = judge(&format!("{option} = {value}")) else { continue };
                refused += 1;
                assert!(is_ours(&text), "#[{attribute}({option} = {value})]: {text}");
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

/// What the messages say to write is right.
#[test]
fn every_example_is_taken() {
    for (attribute, known, judge) in ATTRIBUTES {
        for option in known {
            let example = wants::example(option);
            let said = match *option {
                "upcast_from" | "also_as" => format!("version = 2, {example}"),
                "tz" => format!("cron = \"0 3 * * *\", {example}"),
                _ => example.to_owned(),
            };
            assert_eq!(judge(&said), None, "#[{attribute}({said})]");
        }
    }
}

/// An option of another attribute is told of with the place where it belongs, and a right use of it.
#[test]
fn an_option_of_another_attribute_is_told_where_it_belongs() {
    for (attribute, known, judge) in ATTRIBUTES {
        for (_, others, _) in ATTRIBUTES {
            for option in others.iter().filter(|option| !known.contains(option)) {
                for said in [(*option).to_owned(), wants::example(option).to_owned()] {
                    let text = judge(&said).unwrap_or_else(|| panic!("#[{attribute}({said})] is taken"));
                    assert!(text.contains(&format!("has no `{option}`: ")), "#[{attribute}({said})]: {text}");
                    let place = matches!(*option, "version" | "name") || text.contains(wants::example(option));
                    assert!(place, "#[{attribute}({said})]: {text}");
                }
            }
        }
    }
}

/// What stands between options and before them is told of in words too.
#[test]
fn what_stands_between_options_is_told_of() {
    for (said, words) in [
        ("version = 2 owner = \"policy\"", "a comma is missing"),
        ("version = 2; owner = \"policy\"", "`version` is a whole number"),
        ("42", "here stands an option"),
        (", version = 2", "a comma too many"),
        ("\"policy.issued\"", "here stands an option"),
        ("owner = 1, version = \"2\"", "`version` is a whole number, without quotes: write `version = 2`"),
    ] {
        let text = of_an_event(said).unwrap_or_default();
        assert!(text.contains(words) && is_ours(&text), "{said}: {text}");
    }
    for (value, words) in [
        ("owner = policy", "write `owner = \"policy\"`"),
        ("owner = policy.service", "write for example `owner = \"policy\"`"),
        ("version = \"3\"", "write `version = 3`"),
    ] {
        assert!(of_an_event(value).is_some_and(|text| text.contains(words)), "{value}");
    }
    for (said, words) in [
        ("order.placed", "write `\"order.placed\"`"),
        ("OrderPlaced", "write `\"order.placed\"`"),
        ("42", "for example `\"order.placed\"`"),
        ("name = \"order.placed\"", "the stored name stands first"),
        ("\"order.placed\" version = 2", "a comma is missing here, behind its name"),
        ("\"\"", "an event's name is missing between the quotes"),
    ] {
        let read = |input: syn::parse::ParseStream<'_>| input.parse::<proc_macro2::TokenStream>();
        let tokens = read.parse_str(said).expect("tokens");
        let args = crate::message::parse::args(tokens, &crate::event::OPTIONS);
        let item = syn::parse_str("struct OrderPlaced;").expect("an item");
        let checked = crate::message::model::check(outbox_core::Kind::Event, args, item);
        let text = message(checked.errors.into_result()).unwrap_or_default();
        assert!(text.contains(words) && is_ours(&text), "{said}: {text}");
    }
}
