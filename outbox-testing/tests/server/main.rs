//! The throwaway PostgreSQL, on real servers.

mod given;
mod held;
mod obtain;
mod orphan;
mod restart;
mod start;
mod wire;
