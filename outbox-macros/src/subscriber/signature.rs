//! What the function itself must look like.

use syn::{FnArg, ReturnType, Safety, Type};

use crate::errors::Errors;
use crate::subscriber::function::Function;

/// The types of the parameters.
pub(crate) struct Parameters {
    /// What the handler receives.
    pub(crate) input: Type,
    /// What is taken from the delivery.
    pub(crate) others: Vec<Type>,
}

/// `None` when there is no first parameter; the mistake is then among the errors.
pub(crate) fn check(function: &Function, errors: &mut Errors) -> Option<Parameters> {
    check_qualifiers(function, errors);
    check_generics(function, errors);
    let mut types = Vec::new();
    for argument in &function.sig.inputs {
        match argument {
            FnArg::Receiver(receiver) => {
                let text = format!("subscriber `{}` must be a free function: it cannot take `self`", function.name());
                errors.at(receiver.self_token.span, text);
                return None;
            }
            FnArg::Typed(parameter) => types.push((*parameter.ty).clone()),
        }
    }
    let mut types = types.into_iter();
    let Some(input) = types.next() else {
        let text = format!("subscriber `{}` must take its event (or its job) as the first parameter", function.name());
        errors.at(function.sig.paren_token.span.join(), text);
        return None;
    };
    let parameters = Parameters { input, others: types.collect() };
    check_types(function, &parameters, errors);
    Some(parameters)
}

fn check_qualifiers(function: &Function, errors: &mut Errors) {
    let (sig, name) = (&function.sig, function.name());
    if sig.asyncness.is_none() {
        errors.at(sig.fn_token.span, format!("subscriber `{name}` must be async: write `async fn {name}`"));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        errors.at(token.span, format!("subscriber `{name}` cannot be unsafe: nobody but the worker calls it"));
    }
    if let Some(abi) = &sig.abi {
        errors.at(abi.extern_token.span, format!("subscriber `{name}` cannot be `extern`"));
    }
}

fn check_generics(function: &Function, errors: &mut Errors) {
    let (generics, name) = (&function.sig.generics, function.name());
    if generics.params.is_empty() {
        return;
    }
    let text = if generics.lifetimes().next().is_some() {
        format!("subscriber `{name}` cannot declare a lifetime: write `'_`, as in `Tx<'_>`")
    } else {
        format!("subscriber `{name}` cannot be generic: it is registered once, by name")
    };
    errors.on(generics, text);
}

fn check_types(function: &Function, parameters: &Parameters, errors: &mut Errors) {
    let name = function.name();
    for ty in std::iter::once(&parameters.input).chain(&parameters.others) {
        if let Type::ImplTrait(ty) = ty {
            errors.on(ty, format!("subscriber `{name}` cannot be generic: name the type"));
        }
    }
    if let Type::Reference(reference) = &parameters.input {
        let inner = shown(&reference.elem);
        errors.on(reference, format!("subscriber `{name}` takes its event by value: write `{inner}`"));
    }
    if let ReturnType::Type(_, returned) = &function.sig.output
        && let Type::ImplTrait(returned) = returned.as_ref()
    {
        errors.on(returned, format!("subscriber `{name}` must name what it returns: `Result<(), E>`"));
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
