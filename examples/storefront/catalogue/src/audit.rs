//! What people do in the back office.

use outbox::prelude::*;

/// A setting of the shop was changed.
#[event("setting.changed")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChanged {
    /// Which setting, as `checkout.guest`.
    #[subject]
    pub setting: String,
    /// By whom.
    pub changed_by: String,
}

/// Somebody did something worth remembering.
#[event("user.action_recorded")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserActionRecorded {
    /// Who.
    #[subject]
    pub user_id: String,
    /// What, as `order.export`.
    pub action: String,
}
