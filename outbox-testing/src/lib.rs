//! Test help for `outbox`: a throwaway PostgreSQL in [`server`].

pub mod server;
