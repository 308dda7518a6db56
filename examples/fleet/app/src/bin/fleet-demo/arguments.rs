//! What the play is asked to do.

use std::time::Duration;

use clap::{Parser, ValueEnum};

/// Plays a fleet of two services and a broker, lets happen to it whatever can, and proves from the tables that nothing was lost or doubled.
#[derive(Debug, Clone, Parser)]
pub(crate) struct Arguments {
    /// Which broker stands between the services.
    #[arg(long, value_enum, default_value_t = Kind::Nats)]
    pub(crate) broker: Kind,
    /// Print one JSON object on the standard output, on one line, and everything else on the standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// How many commands are given a second.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) rate: u32,
    /// For how long each act lasts at least.
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    stretch: u64,
    /// For how long the broker is away: longer than all that its relays would wait between their attempts, which is 2 s.
    #[arg(long, value_name = "SECONDS", default_value_t = 12, value_parser = clap::value_parser!(u64).range(3..))]
    outage: u64,
    /// Give up when an act has not ended by then.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    deadline: u64,
}

/// A kind of broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// NATS JetStream.
    Nats,
    /// RabbitMQ.
    Rabbitmq,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nats => "NATS",
            Self::Rabbitmq => "RabbitMQ",
        }
    }

    /// How long it takes to start.
    pub(crate) fn takes(self) -> &'static str {
        match self {
            Self::Nats => "that takes a moment",
            Self::Rabbitmq => "that takes some seconds, and more than a minute on a busy machine",
        }
    }
}

impl Arguments {
    pub(crate) fn stretch(&self) -> Duration {
        Duration::from_secs(self.stretch)
    }

    pub(crate) fn outage(&self) -> Duration {
        Duration::from_secs(self.outage)
    }

    pub(crate) fn deadline(&self) -> Duration {
        Duration::from_secs(self.deadline)
    }
}
