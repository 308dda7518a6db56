//! The server, driven over HTTP on a real PostgreSQL: a file a behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod accounts;
mod again;
mod audit;
mod email;
mod hooks;
mod house;
mod instances;
mod issues;
mod jobs;
mod live;
mod mentions;
mod notifications;
mod receiver;
mod retention;
mod schedules;
mod search;
mod taxonomy;
mod webhooks;
