//! What happens to a policy. Published by the policy service, and by nobody else.

use outbox::prelude::*;

use crate::Money;

/// A policy was sold, as it was told in the beginning, when all premiums were euros.
#[event("policy.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyCreatedV1 {
    /// Which one.
    #[subject]
    pub policy_id: String,
    /// Who is insured.
    pub holder: String,
    /// What it costs a year, in euro cents.
    pub premium_cents: i64,
}

/// A policy was sold. A premium has a currency.
///
/// While consumers of version 1 are about, it is published for them too: they read version 1, the others read all of it, and nobody starves.
/// What version 1 cannot say, a premium in another currency, is not sold before they are gone.
#[event("policy.created", version = 2, upcast_from = PolicyCreatedV1, also_as = PolicyCreatedV1)]
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyCreatedV2 {
    /// Which one.
    #[subject]
    pub policy_id: String,
    /// Who is insured.
    pub holder: String,
    /// What it costs a year.
    pub premium: Money,
}

impl From<PolicyCreatedV1> for PolicyCreatedV2 {
    fn from(old: PolicyCreatedV1) -> Self {
        Self { policy_id: old.policy_id, holder: old.holder, premium: Money::euros(old.premium_cents) }
    }
}

impl From<&PolicyCreatedV2> for PolicyCreatedV1 {
    fn from(new: &PolicyCreatedV2) -> Self {
        Self { policy_id: new.policy_id.clone(), holder: new.holder.clone(), premium_cents: new.premium.cents }
    }
}

/// A policy was sold, for so many months. It is published as version 3 alone, so its consumers have to be there first.
#[event("policy.created", version = 3, upcast_from = PolicyCreatedV2)]
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyCreated {
    /// Which one.
    #[subject]
    pub policy_id: String,
    /// Who is insured.
    pub holder: String,
    /// What it costs for its whole term.
    pub premium: Money,
    /// How long it runs, in months.
    pub term: u32,
}

impl From<PolicyCreatedV2> for PolicyCreated {
    fn from(old: PolicyCreatedV2) -> Self {
        Self { policy_id: old.policy_id, holder: old.holder, premium: old.premium, term: 12 }
    }
}

/// A policy was changed. It says all of what it is now, so that it can be read alone, whatever has come before or will come late.
#[event("policy.amended")]
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyAmended {
    /// Which one.
    #[subject]
    pub policy_id: String,
    /// Who is insured.
    pub holder: String,
    /// What it costs.
    pub premium: Money,
    /// How often it was changed: 1 as it was created.
    pub revision: i32,
}

/// A policy was ended.
#[event("policy.cancelled")]
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyCancelled {
    /// Which one.
    #[subject]
    pub policy_id: String,
    /// Who was insured.
    pub holder: String,
    /// What it cost.
    pub premium: Money,
    /// How often it was changed, this change included.
    pub revision: i32,
}
