//! `cargo xtask mechanisms`: takes the mechanism behind each guarantee out, one at a time, and sees the test fail that names it.
//!
//! A test that passes without the mechanism proves nothing. `tests/mechanisms/` has a file for each: which guarantee it holds, the
//! lines to take out, and the test that has to notice.

mod copy;
mod entry;
mod trial;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use outbox_testing::server::Server;

use crate::Outcome;
use crate::arguments::take_flag;
use crate::workspace::root;
use copy::Copy;
use entry::Entry;
use trial::{Noticed, Trials};

/// Tries every mechanism, or those whose file's name contains one of the arguments.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    let write = take_flag(&mut arguments, "--write");
    let entries: Vec<_> = Entry::read_all(&root())?
        .into_iter()
        .filter(|entry| arguments.is_empty() || arguments.iter().any(|part| entry.name.contains(part.as_str())))
        .collect();
    if entries.is_empty() {
        return Err("no file of tests/mechanisms has such a name".into());
    }
    let server = Server::obtain()?;
    let trials = Trials::new(Copy::make(&root())?, server.url());
    println!("{} mechanisms; first each test with its mechanism in place", entries.len());
    trials.baseline(&entries)?;
    let mut rows = Vec::new();
    let mut unnoticed = 0_u32;
    for (number, entry) in entries.iter().enumerate() {
        let begun = Instant::now();
        let noticed = trials.without(entry)?;
        let (verdict, message) = match &noticed {
            Noticed::Failed(message) => ("noticed", message.as_str()),
            Noticed::Passed => ("NOT NOTICED", "the test passed"),
            Noticed::DidNotBuild => ("DOES NOT BUILD", "what was put in is no program"),
        };
        unnoticed += u32::from(!matches!(noticed, Noticed::Failed(_)));
        println!("{}/{} {verdict}: {} ({:.0} s)", number + 1, entries.len(), entry.name, begun.elapsed().as_secs_f64());
        println!("    {}\n    {message}", entry.test_name());
        rows.push(row(entry, verdict, message));
    }
    println!("{} mechanisms taken out, {} noticed, {unnoticed} not", entries.len(), rows.len() - unnoticed as usize);
    if write && unnoticed == 0 {
        write_table(&rows)?;
    }
    Ok(if unnoticed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row(entry: &Entry, verdict: &str, message: &str) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let said = if verdict == "noticed" { cell(message) } else { verdict.to_owned() };
    format!("| {} | {} | `{}` | {said} |", cell(&entry.guarantee), cell(&entry.mechanism), entry.test_name())
}

fn write_table(rows: &[String]) -> Result<(), Box<dyn Error>> {
    let head = "# What each test would miss\n\n\
        Each mechanism behind a guarantee was taken out, one at a time, and the test that names it failed. `cargo xtask mechanisms`\n\
        does it again, from the files in [`tests/mechanisms/`](../tests/mechanisms); with `--write` it writes this table.\n\n\
        | guarantee | taken out | the test that failed | what it said |\n|---|---|---|---|\n";
    std::fs::write(root().join("docs/mechanisms.md"), format!("{head}{}\n", rows.join("\n")))?;
    Ok(())
}
