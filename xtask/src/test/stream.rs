//! Runs the tests with their output on the terminal as it comes, and reads along.

use std::error::Error;
use std::io::{Read, Write};
use std::process::{Command, ExitStatus, Stdio};

use super::libtest::{Reader, Section};
use crate::artifacts::Artifact;
use crate::child::Running;

/// Runs `tests` to the end; cargo's own end and what each test program reported.
pub(super) fn run(tests: &mut Command, artifacts: &[Artifact]) -> Result<(ExitStatus, Vec<Section>), Box<dyn Error>> {
    // One pipe for both: only then do cargo's headings come before the results that they head.
    let (mut output, writer) = std::io::pipe()?;
    tests.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut running = Running::start(tests)?;
    // The command holds ends of the pipe too, and we would wait for ourselves.
    tests.stdout(Stdio::null()).stderr(Stdio::null());
    let sections = read_along(&mut output, artifacts)?;
    Ok((running.wait()?, sections))
}

fn read_along(output: &mut impl Read, artifacts: &[Artifact]) -> std::io::Result<Vec<Section>> {
    let mut reader = Reader::new(artifacts);
    let mut terminal = std::io::stdout();
    let mut line = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        let length = output.read(&mut chunk)?;
        if length == 0 {
            reader.line(&String::from_utf8_lossy(&line));
            return Ok(reader.finish());
        }
        terminal.write_all(&chunk[..length])?;
        terminal.flush()?;
        line.extend_from_slice(&chunk[..length]);
        while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            reader.line(&String::from_utf8_lossy(&line[..end]));
            line.drain(..=end);
        }
    }
}
