//! Who may do what.

use crate::refused::{Refused, Result};

/// Something that not everybody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Create policies.
    Sell,
    /// Change them.
    Amend,
    /// End them.
    Cancel,
}

/// Somebody who gives commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// As facts name them.
    pub name: &'static str,
    rights: &'static [Right],
}

/// Who comes in with which token. A fleet asks its identity provider.
const AGENTS: [(&str, Agent); 3] = [
    ("token-of-ann", Agent { name: "ann", rights: &[Right::Sell, Right::Amend, Right::Cancel] }),
    ("token-of-bob", Agent { name: "bob", rights: &[Right::Sell, Right::Amend] }),
    ("token-of-billing", Agent { name: "billing", rights: &[] }),
];

impl Agent {
    /// Who comes in with this token.
    ///
    /// # Errors
    /// When nobody does.
    pub fn by_token(token: &str) -> Result<Self> {
        let known = AGENTS.iter().find(|(of, _)| *of == token);
        known.map(|(_, agent)| *agent).ok_or(Refused::Stranger)
    }

    /// Whether they may.
    ///
    /// # Errors
    /// When they may not.
    pub fn may(&self, right: Right) -> Result<()> {
        if self.rights.contains(&right) { Ok(()) } else { Err(Refused::NotAllowed(self.name, right)) }
    }
}
