//! `cargo xtask previous`: the release before, on the tables of today, alone and beside the binaries of today.

mod build;
mod program;

use std::error::Error;
use std::process::ExitCode;

use outbox_testing::server::{Options, Server};

use crate::Outcome;
use build::Programs;
use program::Program;

/// What was done so far, and with which programs.
struct Play {
    programs: Programs,
    server: Server,
    events: usize,
}

/// Builds both programs and plays through everything that two releases meet in.
pub(crate) fn command(arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Err("`cargo xtask previous` takes no arguments".into());
    }
    let programs = Programs::build()?;
    let server = Server::start(&Options::default())?;
    let mut play = Play { programs, server, events: 0 };
    play.migrated_while_it_works()?;
    play.alone_on_the_new_tables()?;
    play.old_and_new_share_the_work()?;
    println!("{} works on the tables of today, alone and beside the binaries of today", play.programs.name);
    Ok(ExitCode::SUCCESS)
}

impl Play {
    /// The old one works and publishes while the new one migrates, and neither is disturbed.
    fn migrated_while_it_works(&mut self) -> Result<(), Box<dyn Error>> {
        let before = self.run_old(&["migrate"])?;
        let worker = self.old(&["work"])?;
        worker.until("ready")?;
        let publisher = self.old(&["publish", "meanwhile", "300"])?;
        worker.until("began errand.book meanwhile 20")?;
        let after = self.run_new(&["migrate"])?;
        publisher.until("published 300")?;
        publisher.has_ended_well()?;
        self.events += 300;
        self.check()?;
        worker.end_in_order()?;
        println!("from {before} to {after} under a worker and a publisher of the release before");
        Ok(())
    }

    /// It starts, publishes, retries, commits effects, takes over the jobs of one that is killed, and leaves the tables alone.
    fn alone_on_the_new_tables(&mut self) -> Result<(), Box<dyn Error>> {
        let (version, again) = (self.run_new(&["migrate"])?, self.run_old(&["migrate"])?);
        if version != again {
            return Err(format!("the old one found {again} where the new one found {version}").into());
        }
        self.publish_old("stumble", 20)?;
        self.publish_old("hang", 1)?;
        let killed = self.old(&["work"])?;
        killed.until("began errand.hang hang 0")?;
        killed.kill()?;
        let other = self.old(&["work"])?;
        self.check()?;
        other.end_in_order()
    }

    /// Both publish, both work, and each takes over what the other leaves behind.
    fn old_and_new_share_the_work(&mut self) -> Result<(), Box<dyn Error>> {
        let (old, new) = (self.old(&["work"])?, self.new_one(&["work"])?);
        old.until("ready")?;
        new.until("ready")?;
        self.publish_old("by the old one, stumble", 150)?;
        self.publish_new("by the new one, stumble", 150)?;
        self.check()?;
        let shares = [old.heard("began"), new.heard("began")];
        if shares.contains(&0) {
            return Err(format!("they did not share the work: {shares:?}").into());
        }
        println!("of one queue the old worker ran {}, the new one {}", shares[0], shares[1]);
        new.end_in_order()?;
        self.publish_new("hang with the old one", 1)?;
        old.until("began errand.hang hang with the old one 0")?;
        let new = self.new_one(&["work"])?;
        new.until("ready")?;
        old.kill()?;
        self.check()?;
        self.publish_old("hang with the new one", 1)?;
        new.until("began errand.hang hang with the new one 0")?;
        let old = self.old(&["work"])?;
        old.until("ready")?;
        new.kill()?;
        self.check()?;
        old.end_in_order()
    }

    fn publish_old(&mut self, label: &str, count: usize) -> Result<(), Box<dyn Error>> {
        self.events += count;
        self.run_old(&["publish", label, &count.to_string()]).map(drop)
    }

    fn publish_new(&mut self, label: &str, count: usize) -> Result<(), Box<dyn Error>> {
        self.events += count;
        self.run_new(&["publish", label, &count.to_string()]).map(drop)
    }

    /// Everything has ended well, each effect once.
    fn check(&self) -> Result<(), Box<dyn Error>> {
        println!("{}", self.run_new(&["check", &self.events.to_string()])?);
        Ok(())
    }

    fn old(&self, arguments: &[&str]) -> Result<Program, Box<dyn Error>> {
        Program::start(&self.programs.old, arguments, self.server.url())
    }

    fn new_one(&self, arguments: &[&str]) -> Result<Program, Box<dyn Error>> {
        Program::start(&self.programs.new, arguments, self.server.url())
    }

    /// Answers the last line that it said.
    fn run_old(&self, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        self.old(arguments)?.has_ended_well()
    }

    fn run_new(&self, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        self.new_one(arguments)?.has_ended_well()
    }
}
