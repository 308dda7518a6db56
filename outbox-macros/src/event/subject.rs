//! `#[subject]`: the field that says which order, which customer.

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::{Data, Field, Fields, Member, Meta, Type};

use crate::errors::Errors;

/// Where an event's subject is found.
pub(crate) enum Subject {
    /// It has none.
    None,
    /// In a field of the struct.
    Field(Box<Marked>),
    /// In fields of the variants; some may have none.
    Variants(Vec<(Ident, Option<Marked>)>),
}

/// A field marked `#[subject]`.
pub(crate) struct Marked {
    pub(crate) member: Member,
    pub(crate) ty: Type,
}

/// Takes the marks off the fields: the compiler must not see them.
pub(crate) fn take(data: &mut Data, errors: &mut Errors) -> Subject {
    match data {
        Data::Struct(data) => {
            take_from(&mut data.fields, errors).map_or(Subject::None, |marked| Subject::Field(Box::new(marked)))
        }
        Data::Enum(data) => {
            let variants: Vec<_> = data
                .variants
                .iter_mut()
                .map(|variant| (variant.ident.clone(), take_from(&mut variant.fields, errors)))
                .collect();
            if variants.iter().all(|(_, marked)| marked.is_none()) {
                return Subject::None;
            }
            Subject::Variants(variants)
        }
        Data::Union(data) => {
            let _ = data.fields.named.iter_mut().filter_map(|field| take_mark(field, errors)).count();
            Subject::None
        }
    }
}

fn take_from(fields: &mut Fields, errors: &mut Errors) -> Option<Marked> {
    let mut found = None;
    for (index, field) in fields.iter_mut().enumerate() {
        let Some(mark) = take_mark(field, errors) else { continue };
        if found.is_some() {
            errors.at(mark, "an event has one subject, and an earlier field is already marked `#[subject]`");
            continue;
        }
        let member = field.ident.clone().map_or_else(|| Member::Unnamed(index.into()), Member::Named);
        found = Some(Marked { member, ty: field.ty.clone() });
    }
    found
}

fn take_mark(field: &mut Field, errors: &mut Errors) -> Option<Span> {
    let mut place = None;
    field.attrs.retain(|attr| {
        let is_mark = attr.path().is_ident("subject");
        if is_mark {
            place = Some(attr.path().span());
            if !matches!(attr.meta, Meta::Path(_)) {
                let text = "`#[subject]` has no options: the subject's type is the first word of the event's name";
                errors.on(&attr.meta, text);
            }
        }
        !is_mark
    });
    place
}
