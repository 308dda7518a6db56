//! The throwaway PostgreSQL, on real servers.

mod given;
mod held;
mod obtain;
mod orphan;
mod replica;
mod restart;
mod start;
mod wire;
