//! Versions of one message: how a payload that was stored as an earlier one is read, and how a later one is written so that whoever
//! knows only the earlier reads it.
//!
//! Whatever decodes a message asks [`read`], so that no path knows fewer versions than another.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::check::Declared;
use crate::envelope::{DecodeError, Payload};
use crate::failure::BoxError;
use crate::message::Message;

/// How a message is made from an earlier version of it.
#[derive(Debug)]
pub struct Upcast<New> {
    /// Name, version and kind of the earlier one.
    pub from: Declared<'static>,
    /// All versions that the earlier one is read from, its own first.
    pub versions: &'static [u32],
    /// Reads the earlier one, from any of its versions, and makes this one of it.
    pub read: fn(u32, &Payload) -> Result<New, ReadError>,
}

/// `upcast_from = Old`: implemented for every message that is made from another by `From` or `TryFrom`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be made from `{Old}`, which it says it is upcast from",
    label = "no `impl From<{Old}> for {Self}`, or this is no event and no job",
    note = "mark the earlier type `#[event(\"its.name\", version = 1)]`, and write `impl From<{Old}> for {Self}`; where some earlier values have no later form, `impl TryFrom<{Old}> for {Self}`, whose error quarantines"
)]
pub trait UpcastFrom<Old>: Sized {
    /// The way from the one to the other.
    const UPCAST: Upcast<Self>;
}

#[diagnostic::do_not_recommend]
impl<Old: Message, New: Message + TryFrom<Old>> UpcastFrom<Old> for New
where
    New::Error: Into<BoxError>,
{
    const UPCAST: Upcast<Self> = Upcast {
        from: Some((Old::NAME, Old::VERSION, Old::KIND)),
        versions: Old::VERSIONS,
        read: |version, payload| {
            let old = read::<Old>(version, payload)?;
            New::try_from(old).map_err(|error| ReadError::Upcast {
                from: Old::WIRE_NAME,
                into: New::WIRE_NAME,
                source: error.into(),
            })
        },
    };
}

/// How a message is written as an earlier version of it, with itself inside.
#[derive(Debug)]
pub struct Downcast<New> {
    /// Name, version and kind of the earlier one.
    pub into: Declared<'static>,
    /// The earlier one as JSON.
    pub write: fn(&New) -> Result<String, serde_json::Error>,
}

/// `also_as = Older`: implemented for every message of which a reference turns into another.
#[diagnostic::on_unimplemented(
    message = "`{Older}` cannot be made from `{Self}`, which says it is published as that too",
    label = "no `impl From<&{Self}> for {Older}`, or this is no event and no job",
    note = "write `impl From<&{Self}> for {Older}`: what subscribers that know only `{Older}` are to see"
)]
pub trait AlsoAs<Older>: Sized {
    /// The way from the one to the other.
    const DOWNCAST: Downcast<Self>;
}

#[diagnostic::do_not_recommend]
impl<Older: Message + for<'a> From<&'a New>, New: Message> AlsoAs<Older> for New {
    const DOWNCAST: Downcast<Self> = Downcast {
        into: Some((Older::NAME, Older::VERSION, Older::KIND)),
        write: |new| serde_json::to_string(&Older::from(new)),
    };
}

/// Why a stored payload is not read as a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It does not have the shape of its version.
    #[error("`{wire_name}` cannot be read")]
    Payload {
        /// The name and version as which it was read.
        wire_name: &'static str,
        /// Where it does not fit.
        source: DecodeError,
    },
    /// Its version's value has no form in the later one.
    #[error("this `{from}` does not become `{into}`")]
    Upcast {
        /// The name and version that was read.
        from: &'static str,
        /// The name and version that it was to become.
        into: &'static str,
        /// What the conversion says.
        source: BoxError,
    },
    /// It is another message, or of a version that the type is not read from.
    #[error("`{found}` cannot be read as `{wanted}`")]
    Other {
        /// The name and version that is stored.
        found: String,
        /// The name and version of the type.
        wanted: &'static str,
    },
}

/// The message that was stored as `version` of itself: decoded as that version's type, and upcast from there step by step.
///
/// Where the payload holds the later version too, as `also_as` writes it, that one is taken, and nothing is upcast.
///
/// # Errors
/// When the payload does not have the shape of its version, a conversion refuses the value, or the type knows no such version. None of
/// it gets better by a retry.
pub fn read<M: Message>(version: u32, payload: &Payload) -> Result<M, ReadError> {
    let unreadable = |source| ReadError::Payload { wire_name: M::WIRE_NAME, source };
    if version == M::VERSION {
        return payload.decode().map_err(unreadable);
    }
    match M::UPCAST {
        Some(upcast) if upcast.versions.contains(&version) => match carried(payload, M::WIRE_NAME) {
            Some(newer) => newer.decode().map_err(unreadable),
            None => (upcast.read)(version, payload),
        },
        _ => Err(ReadError::Other { found: format!("{}.v{version}", M::NAME), wanted: M::WIRE_NAME }),
    }
}

/// Whether a payload that was stored as `version` is read as `M`; see [`read`].
///
/// # Errors
/// As [`read`].
pub fn check<M: Message>(version: u32, payload: &Payload) -> Result<(), ReadError> {
    read::<M>(version, payload).map(drop)
}

/// The later version that a payload holds under its wire name.
fn carried(payload: &Payload, wire_name: &str) -> Option<Payload> {
    // Most payloads hold none, and then nothing is read twice.
    if !payload.as_json().contains(wire_name) {
        return None;
    }
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(payload.as_json()).ok()?;
    fields.get(wire_name).map(|newer| Payload::from_json(newer.get()))
}

/// The version as which a message is stored: its own, or the earlier one that `also_as` names.
#[must_use]
pub const fn stored<M: Message>() -> u32 {
    match M::DOWNCAST {
        Some(Downcast { into: Some((_, version, _)), .. }) => version,
        _ => M::VERSION,
    }
}

/// The message as JSON: of the version that [`stored`] says, and where that is an earlier one, with the message itself as one more field
/// under its wire name. Who knows only the earlier version ignores that field.
///
/// # Errors
/// When the message cannot be written as JSON, or the earlier version has no fields, so that there is no room for one more.
pub fn write<M: Message>(message: &M) -> Result<String, serde_json::Error> {
    let own = serde_json::to_string(message)?;
    let Some(downcast) = M::DOWNCAST else { return Ok(own) };
    let mut older = (downcast.write)(message)?;
    if !older.starts_with('{') || older.pop() != Some('}') {
        return Err(serde::ser::Error::custom(
            "the earlier version that `also_as` names is not written as an object with fields",
        ));
    }
    let comma = if older == "{" { "" } else { "," };
    Ok(format!("{older}{comma}\"{}\":{own}}}", M::WIRE_NAME))
}

/// The versions that a type is read from behind its own: those of the type that it is upcast from.
#[must_use]
pub const fn earlier_versions<M: Message>() -> &'static [u32] {
    match M::UPCAST {
        Some(upcast) => upcast.versions,
        None => &[],
    }
}

/// The versions that a type is read from: `own` before those of the type that it is upcast from.
#[must_use]
pub const fn chain<const N: usize>(own: u32, earlier: &[u32]) -> [u32; N] {
    let mut all = [own; N];
    let mut i = 0;
    while i < earlier.len() {
        all[i + 1] = earlier[i];
        i += 1;
    }
    all
}

#[cfg(test)]
mod tests;
