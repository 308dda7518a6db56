//! What subscribers and scheduled functions have in common: a function that a worker calls, under a stored name.

pub(crate) mod expand;
pub(crate) mod function;
pub(crate) mod model;
pub(crate) mod names;
pub(crate) mod run;
pub(crate) mod signature;
