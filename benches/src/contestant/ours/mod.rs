//! A user's program: what is public, and nothing else.

pub(super) mod bulk;
pub(super) mod drain;
pub(super) mod latency;
pub(super) mod publish;
pub(super) mod rescue;
pub(super) mod steady;
pub(super) mod tx_drain;
