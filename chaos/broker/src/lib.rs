//! A seeded fault run of two services with a broker between them: one publishes and relays, one ingests and handles, each on a database
//! of its own, while faults meet the broker, its network, the processes and the database server. Then everything is healed, and what both
//! databases hold is compared. `cargo xtask chaos --broker nats|rabbitmq`; for the project itself.
//!
//! # The rooms
//!
//! | room | holds |
//! |---|---|
//! | [`plan`] | which fault, when, on whom: drawn from the seed before anything runs |
//! | [`load`] | what is published, and the tables of both services |
//! | [`ways`] | one type for both brokers, in each direction |
//! | [`node`] | what the processes of both services have in common; the services are the programs in `bin` |
//! | [`conductor`] | starts everything, makes the faults happen, heals, waits for the end |
//! | [`check`] | the rules, as pure functions of what was found |
//! | [`report`] | the summary, for people and as JSON |

pub mod check;
pub mod conductor;
pub mod load;
pub mod node;
pub mod plan;
pub mod report;
// Of the other fault run, whose handlers a dependency on it would bring along.
#[path = "../../src/seeded.rs"]
pub mod seeded;
pub mod ways;
