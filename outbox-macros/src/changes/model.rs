//! A struct whose fields can be compared.

use syn::{Data, DeriveInput, Field, Fields};

use crate::changes::parse;
use crate::errors::Errors;
use crate::paths::Facade;

pub(crate) struct Tracked {
    pub(crate) facade: Facade,
    pub(crate) item: DeriveInput,
    /// Its fields, and whether each is left out. Empty where there are mistakes.
    pub(crate) fields: Vec<(Field, bool)>,
    pub(crate) errors: Errors,
}

pub(crate) fn check(item: DeriveInput) -> Tracked {
    let mut errors = Errors::default();
    let krate = parse::krate(&item.attrs, &mut errors);
    let facade = Facade::new(krate.as_ref(), &mut errors);
    let fields = check_shape(&item, &mut errors).unwrap_or_default();
    let fields = fields
        .into_iter()
        .map(|field| {
            let left_out = parse::is_left_out(&field.attrs, &mut errors);
            (field, left_out)
        })
        .collect();
    Tracked { facade, item, fields, errors }
}

/// The fields have names, and one shape.
fn check_shape(item: &DeriveInput, errors: &mut Errors) -> Option<Vec<Field>> {
    let ident = &item.ident;
    let named = match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Some(fields.named.iter().cloned().collect()),
            Fields::Unnamed(_) | Fields::Unit => None,
        },
        Data::Enum(_) | Data::Union(_) => None,
    };
    if named.is_none() {
        let text = format!(
            "`Changes` compares field by field, so it goes on a struct with named fields, which `{ident}` is not"
        );
        errors.at(ident.span(), text);
        return None;
    }
    if !item.generics.params.is_empty() {
        let text = format!(
            "`Changes` compares one type with itself, so `{ident}` cannot be generic: put the concrete types in"
        );
        errors.on(&item.generics, text);
        return None;
    }
    named
}
