//! What billing makes of `policy.created`, in each of its releases: the same two handlers, which take the version of their day.
//!
//! A handler of a later version reads the earlier ones too. One of an earlier reads what is published as both, and leaves alone what it does
//! not know.

mod first;
mod second;
mod third;

use contracts::{Money, PolicyState, Status};
use outbox::{Registry, SubscriberDescriptor};
use platform::Release;

/// What a build of this release has linked.
#[must_use]
pub fn registry(release: Release) -> Registry {
    platform::registry(release, |subscriber| is_in(release, subscriber))
}

/// Whether a handler is of this release, or of all.
fn is_in(release: Release, subscriber: &SubscriberDescriptor) -> bool {
    let module = subscriber.place.module_path;
    let own = match release {
        Release::First => first::MODULE,
        Release::Second => second::MODULE,
        Release::Third => third::MODULE,
    };
    !module.starts_with(module_path!()) || module == own
}

/// A policy as it is created.
fn created(policy_id: String, holder: String, premium: Money) -> PolicyState {
    PolicyState { policy_id, holder, premium, status: Status::Active, revision: 1 }
}
