//! Roles with the least that each needs: every one does its whole job, and nothing else.

mod complete;
pub mod granted;
mod onlookers;
mod publisher;
mod script;
mod worker;
