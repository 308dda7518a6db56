//! `cargo xtask mechanisms`: takes the mechanism behind each guarantee out, one at a time, and sees the test fail that names it.
//!
//! A test that passes without the mechanism proves nothing. `tests/mechanisms/` has a file for each: which guarantee it holds, the
//! lines to take out, and the test that has to notice.

mod copy;
mod entry;
mod table;
mod trial;

use std::process::ExitCode;
use std::time::Instant;

use outbox_testing::server::Server;

use crate::Outcome;
use crate::arguments::take_flag;
use crate::workspace::root;
use copy::Copy;
use entry::Entry;
use table::Table;
use trial::{Noticed, Trials};

/// Tries every mechanism, or those whose file's name contains one of the arguments.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    let write = take_flag(&mut arguments, "--write");
    let (entries, others): (Vec<_>, Vec<_>) = Entry::read_all(&root())?
        .into_iter()
        .partition(|entry| arguments.is_empty() || arguments.iter().any(|part| entry.name.contains(part.as_str())));
    if entries.is_empty() {
        return Err("no file of tests/mechanisms has such a name".into());
    }
    // Before anything runs: one that names a text that has changed since would end the run in its middle.
    let stale: Vec<_> =
        entries.iter().filter_map(|entry| Some(format!("{}: {}", entry.name, entry.fits(&root()).err()?))).collect();
    if !stale.is_empty() {
        return Err(stale.join("\n").into());
    }
    let server = Server::obtain()?;
    let trials = Trials::new(Copy::make(&root())?, server.url());
    println!("{} mechanisms; first each test with its mechanism in place", entries.len());
    trials.baseline(&entries)?;
    let mut table = Table::of(&others);
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
        if matches!(noticed, Noticed::Failed(_)) {
            table.add(entry, message);
            if write {
                table.write()?;
            }
        }
    }
    println!("{} mechanisms taken out, {} noticed, {unnoticed} not", entries.len(), entries.len() - unnoticed as usize);
    Ok(if unnoticed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
