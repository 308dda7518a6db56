//! SoloPM, a project-management server: every mutation publishes one event, and five consumers follow it.
//!
//! Read on in this order:
//!
//! - [`events`]: the fifty things that can happen, and [`context`]: who, in which project, on whose behalf.
//! - [`projects`], [`issues`], [`comments`], [`wiki`], [`users`]: what people do. Each function takes the caller's
//!   transaction, changes rows, and publishes.
//! - [`audit`]: a row for each event, in the same transaction.
//! - [`notifications`] and [`mail`]: who is told, at once or in the digest of the night.
//! - [`search`]: an index beside the database that stays as the rows are.
//! - [`webhooks`]: what leaves the house; [`hooks`]: what comes in from other services.
//! - `live`: what the pages of a project's members hear, and [`page`](self), such a page.
//! - [`retention`] and `admin`: what goes, and what those who run the server see.
//! - [`server`]: all of it in one process.

mod admin;
mod app;
pub mod audit;
pub mod comments;
pub mod context;
pub mod events;
pub mod hooks;
pub mod ids;
pub mod issues;
mod live;
pub mod mail;
pub mod mentions;
pub mod notifications;
mod page;
pub mod projects;
pub mod refused;
pub mod retention;
pub mod sample;
pub mod search;
pub mod server;
mod session;
pub mod users;
pub mod webhooks;
pub mod wiki;

outbox::modules![audit, events, hooks, notifications, outbox_webhooks, retention, search];
