//! Roles with the least that each needs: every one does its whole job, and nothing else.

mod complete;
mod granted;
mod onlookers;
mod publisher;
mod script;
mod worker;
