//! `cargo xtask fleet`: the fleet example, with its databases and its broker.

use std::error::Error;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::brokers::{self, Broker, NATS, RABBITMQ};
use crate::workspace::cargo;
use crate::{Outcome, arguments, artifacts};

/// Becomes the example: the terminal is its own then, Ctrl-C ends all of it, and its exit code is ours.
pub(crate) fn command(arguments: Vec<String>) -> Outcome {
    let broker = broker(&arguments)?;
    let program = build()?;
    if let Some(broker) = broker {
        brokers::obtain(&[broker])?;
    }
    Err(Command::new(program).args(arguments).exec().into())
}

/// Which broker has to be there. What is no broker the example refuses itself, with the right words, and so it does for `--help`.
fn broker(given: &[String]) -> Result<Option<&'static Broker>, String> {
    let mut given = given.to_vec();
    if ["--help", "-h"].iter().any(|help| arguments::take_flag(&mut given, help)) {
        return Ok(None);
    }
    let named = arguments::take_value(&mut given, "--broker")?;
    Ok(match named.as_deref() {
        None | Some("nats") => Some(&NATS),
        Some("rabbitmq") => Some(&RABBITMQ),
        Some(_) => None,
    })
}

/// Builds the programs of the example, and answers which one to run: it starts the others, which lie beside it.
fn build() -> Result<PathBuf, Box<dyn Error>> {
    let mut build = cargo("build");
    build.args(["-p", "fleet-app", "--message-format=json-render-diagnostics"]);
    let artifacts = artifacts::build(&mut build)?.ok_or("the example does not build")?;
    let program = artifacts.into_iter().find(|artifact| artifact.id.ends_with("bin/fleet-demo"));
    Ok(program.ok_or("cargo built no `fleet-demo`")?.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Result<Option<&'static Broker>, String> {
        broker(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    /// The broker that is asked for is seen to, and nothing is installed for a line that the example refuses.
    #[test]
    fn the_broker_that_is_asked_for_is_obtained() {
        assert_eq!(wanted("--json"), Ok(Some(&NATS)));
        assert_eq!(wanted("--broker nats"), Ok(Some(&NATS)));
        assert_eq!(wanted("--json --broker=rabbitmq"), Ok(Some(&RABBITMQ)));
        assert_eq!(wanted("--broker kafka"), Ok(None));
        assert_eq!(wanted("--help"), Ok(None));
        assert!(wanted("--broker").is_err());
    }
}
