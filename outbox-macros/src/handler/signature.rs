//! What the function itself must look like.

use syn::{FnArg, ReturnType, Safety, Type};

use crate::errors::Errors;
use crate::handler::function::Function;

/// What a message calls such a function.
pub(crate) struct Noun {
    /// `subscriber`
    noun: &'static str,
}

pub(crate) const SUBSCRIBER: Noun = Noun { noun: "subscriber" };
pub(crate) const SCHEDULED: Noun = Noun { noun: "scheduled function" };

/// The types of the parameters that are taken from the delivery.
pub(crate) type Parameters = Vec<Type>;

/// The types of all parameters. `None` when one has none; the mistake is then among the errors.
pub(crate) fn check(function: &Function, of: &Noun, errors: &mut Errors) -> Option<Parameters> {
    let called = format!("{} `{}`", of.noun, function.name());
    check_qualifiers(function, &called, errors);
    check_generics(function, &called, errors);
    let mut types = Vec::new();
    for argument in &function.sig.inputs {
        match argument {
            FnArg::Receiver(receiver) => {
                let text = format!("{called} must be a free function: it cannot take `self`");
                errors.at(receiver.self_token.span, text);
                return None;
            }
            FnArg::Typed(parameter) => types.push((*parameter.ty).clone()),
        }
    }
    check_types(function, &called, &types, errors);
    Some(types)
}

/// The first of them is what a subscriber receives.
pub(crate) fn with_input(
    function: &Function,
    parameters: Parameters,
    errors: &mut Errors,
) -> Option<(Type, Parameters)> {
    let mut types = parameters.into_iter();
    let Some(input) = types.next() else {
        let text = format!("subscriber `{}` must take its event (or its job) as the first parameter", function.name());
        errors.at(function.sig.paren_token.span.join(), text);
        return None;
    };
    if let Type::Reference(reference) = &input {
        let inner = shown(&reference.elem);
        errors.on(reference, format!("subscriber `{}` takes its event by value: write `{inner}`", function.name()));
    }
    Some((input, types.collect()))
}

fn check_qualifiers(function: &Function, called: &str, errors: &mut Errors) {
    let (sig, name) = (&function.sig, function.name());
    if sig.asyncness.is_none() {
        errors.at(sig.fn_token.span, format!("{called} must be async: write `async fn {name}`"));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.at(token.span, format!("{called} cannot be unsafe: nobody but the worker calls it"));
    }
    if let Some(abi) = &sig.abi {
        errors.at(abi.extern_token.span, format!("{called} cannot be `extern`"));
    }
}

fn check_generics(function: &Function, called: &str, errors: &mut Errors) {
    let generics = &function.sig.generics;
    if generics.params.is_empty() {
        return;
    }
    let text = if generics.lifetimes().next().is_some() {
        format!("{called} cannot declare a lifetime: write `'_`, as in `Tx<'_>`")
    } else {
        format!("{called} cannot be generic: it is registered once, by name")
    };
    errors.on(generics, text);
}

fn check_types(function: &Function, called: &str, parameters: &[Type], errors: &mut Errors) {
    for ty in parameters {
        if let Type::ImplTrait(ty) = ty {
            errors.on(ty, format!("{called} cannot be generic: name the type"));
        }
    }
    if let ReturnType::Type(_, returned) = &function.sig.output
        && let Type::ImplTrait(returned) = returned.as_ref()
    {
        errors.on(returned, format!("{called} must name what it returns: `Result<(), E>`"));
    }
}

/// A type as a person writes it: tokens alone print as `Tx < '_ >`.
pub(crate) fn shown(ty: &Type) -> String {
    let tokens = quote::ToTokens::to_token_stream(ty).to_string();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = tokens.chars().peekable();
    while let Some(c) = rest.next() {
        let needed = |next: &char| out.ends_with(is_word) && is_word(*next) || out.ends_with([',', ';', '+']);
        if c != ' ' || rest.peek().is_some_and(needed) {
            out.push(c);
        }
    }
    out
}
