//! The throwaway PostgreSQL, on real servers.

mod given;
mod held;
mod obtain;
mod orphan;
mod pooler;
mod replica;
mod restart;
mod start;
mod wire;
