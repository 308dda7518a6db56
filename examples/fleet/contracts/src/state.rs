use serde::{Deserialize, Serialize};

use crate::Money;

/// A policy as it is now, as its authority answers it to whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyState {
    /// Which one.
    pub policy_id: String,
    /// Who is insured.
    pub holder: String,
    /// What it costs.
    pub premium: Money,
    /// Whether it runs.
    pub status: Status,
    /// How often it was changed: 1 as it was created.
    pub revision: i32,
}

/// Whether a policy runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It does.
    Active,
    /// It has ended.
    Cancelled,
}

impl Status {
    /// As it is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Cancelled => "cancelled",
        }
    }

    /// As it was stored; `None` for what no release has written.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Cancelled].into_iter().find(|status| status.as_str() == text)
    }
}
