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
The project's own commands. To begin with: `cargo xtask demo`. The first build takes some minutes.

None needs a database to be there: a PostgreSQL is found on this machine or fetched, started, and stopped again.
Only those marked * use another one where OUTBOX_TEST_DATABASE_URL, OUTBOX_DATABASE_URL or DATABASE_URL names it, in
schemas and databases of their own, which they drop at the end; `unset` the variable where that is not wanted.
ARGUMENT.. goes to the program that the command runs; most of them list theirs by `--help`.

Examples
* cargo xtask demo [--orders FILE] [--json] [ARGUMENT..]
                                      The storefront: orders come in, five handlers do their work, a worker is killed in
                                      the middle, and a proof shows that nothing was lost or doubled.
* cargo xtask solopm [--listen 127.0.0.1:3000]
                                      The SoloPM example, a web server that uses everything, with its database, mail
                                      server and receiver of webhooks. Prints the address of its page; Ctrl-C ends all
                                      of it.
* cargo xtask fleet [--broker nats|rabbitmq] [--json] [--rate 40] [--outage 12] [ARGUMENT..]
                                      Two services with a database each and a broker between them, everything that can
                                      happen to them, and the proof that nothing was lost or doubled. A minute and a
                                      half; RabbitMQ starts more slowly. The broker is found on this machine, or
                                      installed by apt where this is root. --rate: commands a second. --outage: seconds
                                      without the broker.
  cargo xtask postgres [--version 18] [--pgbouncer]
                                      A PostgreSQL for a program of yours: prints its URL and keeps it until Ctrl-C,
                                      then it is thrown away. --pgbouncer: with a PgBouncer in transaction mode before
                                      it.

Tests
* cargo xtask test [ARGUMENT..]       All tests against one PostgreSQL, summed up at the end. Arguments go to cargo:
                                      `-p outbox-core` for those of one package, `-- publish` for those of that name.
  cargo xtask test --matrix [--versions 14,18,pgbouncer] [--allow-missing] [ARGUMENT..]
                                      The same on PostgreSQL 14 to 18, each fetched and started, and through PgBouncer
                                      in transaction mode, a line for each at the end. --allow-missing: a version that
                                      cannot be fetched is told of and is no failure.
* cargo xtask test --browser [ARGUMENT..]
                                      The tests of the SoloPM example's page, in Chromium. It and its driver are found
                                      on this machine (or named by CHROMIUM and CHROMEDRIVER), or installed by apt as
                                      root.
* cargo xtask proofs [--last]         All tests, and which of them proves which requirement; fails when a number in
                                      docs/proofs.txt has no test that passes. --last: by the last run, without another.
* cargo xtask mechanisms [--write] [NAME..]
                                      Take the mechanism behind each guarantee out of a copy of the sources, one at a
                                      time, and see the test fail that is to notice. --write: write docs/mechanisms.md
                                      anew.
  cargo xtask previous                The released version that tests/previous/released.toml names is built too, and its
                                      programs run on the tables of today, alone and beside those of today.

Faults, for hours
* cargo xtask soak [--runs 20] [--seed 1] [--limit 300] [ARGUMENT..]
                                      The demo many times, each with a kill at another point, and the proof of each.
                                      --limit: seconds that one run may take. Other arguments go to the demo.
  cargo xtask chaos [--seed 1] [--minutes 10] [--failover none|synchronous|asynchronous] [--keep] [--json] [--plan]
                    [--release] [ARGUMENT..]
                                      Workers and publishers, faults of every kind, and then a look at all that
                                      happened; fails when a guarantee was broken. The same seed has the same faults.
                                      --failover: the database moves to a replica. --keep: the files of the run stay,
                                      also when it went well. --json: the summary as one line. --plan: only print the
                                      faults. --release: the programs are built optimized. --help: the other arguments.
  cargo xtask chaos --broker nats|rabbitmq [--minutes 2] [ARGUMENT..]
                                      The same of two services with a broker between them, with faults of the broker.

Measurements
  cargo xtask bench [--only drain,publish] [--pairs 9] [--scale 1] [--json FILE] [ARGUMENT..]
                                      Each work beside the least SQL that does the same, in turns, on one server with
                                      durable settings, and which targets are met. Built optimized. --peers: beside
                                      other libraries too, see benches/peers. --help: the other arguments.
  cargo xtask bench --relay [--broker nats|rabbitmq] [--rounds 5] [--events 100000] [ARGUMENT..]
                                      The relay beside the same client that publishes with confirms from memory.

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
            eprintln!("there is no command `{other}`{}", meant(other));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// What is said of a word that is no command.
fn meant(word: &str) -> String {
    let commands = USAGE.lines().filter_map(|line| line.trim_start_matches(['*', ' ']).strip_prefix("cargo xtask "));
    let names = commands.filter_map(|command| command.split_whitespace().next());
    match outbox_core::text::closest(word, names) {
        Some(name) => format!(": did you mean `{name}`? `cargo xtask help` lists them all"),
        None => "; `cargo xtask help` lists them all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A misspelt command is told which it may have been, and the list is not printed over that.
    #[test]
    fn a_misspelt_command_is_told_which_was_meant() {
        assert!(meant("fleeet").contains("did you mean `fleet`?"));
        assert!(meant("tset").contains("did you mean `test`?"));
        assert_eq!(meant("deploy-everything"), "; `cargo xtask help` lists them all");
    }

    /// The list fits a terminal, and has every command that there is.
    #[test]
    fn the_list_is_whole_and_fits_a_terminal() {
        for line in USAGE.lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
        for command in [
            "bench",
            "chaos",
            "demo",
            "fleet",
            "help",
            "mechanisms",
            "postgres",
            "previous",
            "proofs",
            "soak",
            "solopm",
            "test",
        ] {
            assert!(USAGE.contains(&format!("cargo xtask {command} ")), "{command}");
        }
    }
}
