//! A PostgreSQL to try things on, for as long as this program runs:
//! `cargo run -p outbox-testing --no-default-features --bin throwaway-postgres`.
//!
//! It prints the server's process id, its data folder and its URL, one a line, and ends with its standard input. The
//! tests of the server use it as the process that they kill.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this program is for")]

use std::io::Read;
use std::process::ExitCode;

use outbox_testing::server::{Options, Server};

fn main() -> ExitCode {
    let server = match Server::start(&Options::default()) {
        Ok(server) => server,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}", server.pid().unwrap_or_default());
    println!("{}", server.data_folder().unwrap_or_default().display());
    println!("{}", server.url());
    // A read error ends the program as well as the end of the input does.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}
