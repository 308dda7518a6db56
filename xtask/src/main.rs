//! The project's own commands: `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

mod arguments;
mod artifacts;
mod bench;
mod brokers;
mod chaos;
mod child;
mod demo;
mod fleet;
mod mechanisms;
mod postgres;
mod previous;
mod proofs;
mod soak;
mod solopm;
mod test;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

/// What a command ends with: the exit code, or a message for the person at the terminal.
type Outcome = Result<ExitCode, Box<dyn Error>>;

const USAGE: &str = "\
The project's own commands. None needs a database to be there.

  Those marked * use the server that OUTBOX_TEST_DATABASE_URL, OUTBOX_DATABASE_URL or DATABASE_URL names, in schemas and
  databases of their own, which they drop. Where none is named, and for all other commands in any case, a PostgreSQL is
  found on this machine or fetched, started, and stopped again.

* cargo xtask test [ARGUMENT..]       Run all tests against one PostgreSQL, and sum them up at the end.
                                      Arguments go to `cargo test`, for instance `-p outbox-core` or `-- publish`.
  cargo xtask test --matrix [--versions 14,18,pgbouncer] [--allow-missing] [ARGUMENT..]
                                      The same on PostgreSQL 14 to 18, each fetched and started, and through PgBouncer in
                                      transaction mode; a line for each at the end. --allow-missing: what cannot be
                                      fetched is said and is no failure.
* cargo xtask test --browser [ARGUMENT..]
                                      The tests of the SoloPM example's page, in Chromium. It and its driver are found on
                                      this machine (or named by CHROMIUM and CHROMEDRIVER), or installed by apt as root.
* cargo xtask proofs [--last]         Run all tests and show which of them proves which requirement; fails when a
                                      number in docs/proofs.txt has no passing test. --last: look at the last run.
* cargo xtask demo [ARGUMENT..]       Run the storefront example. Arguments go to it: --orders FILE, --json, ..
* cargo xtask solopm [--listen 127.0.0.1:3000]
                                      Run the SoloPM example with its database, mail server and receiver of webhooks, and
                                      print its address. Ctrl-C ends all of it.
* cargo xtask fleet [--broker nats|rabbitmq] [--json] [--rate 40] [--outage 12] [ARGUMENT..]
                                      Run the fleet example: two services and a broker, in about a minute and a half, with everything
                                      that can happen to them, and the proof that nothing was lost or doubled. The broker is
                                      found on this machine, or installed by apt as root. --json: one object on one line.
* cargo xtask soak [--runs 20] [--seed 1] [--limit 300] [ARGUMENT..]
                                      Run the demo many times, each with a kill at another point, and check the proof
                                      of each. --limit: seconds a run may take. Other arguments go to the demo.
* cargo xtask mechanisms [--write] [NAME..]
                                      Take the mechanism behind each guarantee out, one at a time, in a copy, and see
                                      the test fail that names it. --write: write docs/mechanisms.md.
  cargo xtask postgres [--version 18] [--pgbouncer]
                                      Start a throwaway PostgreSQL for a program of yours, print its URL, and keep it
                                      until Ctrl-C. --pgbouncer: a PgBouncer in transaction mode before it, too.
  cargo xtask chaos [--seed 1] [--minutes 10] [--failover none|synchronous|asynchronous] [--keep] [--json] [--plan]
                    [--release] [ARGUMENT..]
                                      Run workers and publishers while faults of every kind meet them, and check the
                                      whole history; fails when a guarantee was broken. --failover: whether the database
                                      moves to a replica. --keep: keep the run's files in any case.
                                      --json: the summary as one line. --plan: print which faults the seed holds.
                                      --release: with programs that are optimized. --help: the other arguments.
                                      --broker nats|rabbitmq [--minutes 2]: instead, two services with a broker between
                                      them, and faults of the broker too.
  cargo xtask bench [--only drain,publish] [--pairs 9] [--scale 1] [--json FILE] [ARGUMENT..]
                                      Measure outbox and the least SQL that does the same, in turns on one server with
                                      durable settings, and say which targets are met. Builds with --release.
                                      --peers: other libraries take part, too; see benches/peers.
                                      --relay [--broker nats|rabbitmq] [--rounds 5] [--events 100000]: instead, the relay
                                      beside the same client that publishes with confirms from memory.
                                      --help: the other arguments.
  cargo xtask previous                Build the release that tests/previous/released.toml names too, and run it on the
                                      tables of today, alone and beside the binaries of today.
  cargo xtask help                    Show this.
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_else(|| "help".to_owned());
    let outcome = dispatch(&command, arguments.collect());
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn dispatch(command: &str, arguments: Vec<String>) -> Outcome {
    match command {
        "test" => test::command(arguments),
        "proofs" => proofs::command(arguments),
        "demo" => demo::command(arguments),
        "solopm" => solopm::command(&arguments),
        "fleet" => fleet::command(arguments),
        "mechanisms" => mechanisms::command(arguments),
        "soak" => soak::command(arguments),
        "chaos" => chaos::command(arguments),
        "bench" => bench::command(arguments),
        "postgres" => postgres::command(arguments),
        "previous" => previous::command(&arguments),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        other => {
            eprint!("There is no command `{other}`.\n\n{USAGE}");
            Ok(ExitCode::FAILURE)
        }
    }
}
