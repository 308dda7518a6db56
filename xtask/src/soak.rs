//! `cargo xtask soak`: the demo many times over, each run killed at another point.

use std::error::Error;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::arguments::take_number;
use crate::child::Running;
use crate::{Outcome, demo};

/// How to soak.
struct Plan {
    program: PathBuf,
    limit: Duration,
    /// For the demo, beside those that differ from run to run.
    arguments: Vec<String>,
}

/// Runs the demo `--runs` times and fails when one run does not prove its result.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    let runs = take_number(&mut arguments, "--runs", 20)?;
    let seed = take_number(&mut arguments, "--seed", 1)?;
    let limit = Duration::from_secs(take_number(&mut arguments, "--limit", 300)?);
    let plan = Plan { program: demo::build()?, limit, arguments };
    let mut failed = Vec::new();
    for number in 0..runs {
        let seed = seed.wrapping_add(number);
        if let Err(reason) = announced(&plan, number + 1, runs, seed) {
            println!("  {reason}");
            failed.push(seed.to_string());
        }
    }
    println!("{} proven, {} failed", runs - failed.len() as u64, failed.len());
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("to see one again: cargo xtask soak --runs 1 --seed N, with N one of {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// One run with its line on the terminal.
fn announced(plan: &Plan, number: u64, runs: u64, seed: u64) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let outcome = run(plan, seed);
    let verdict = match &outcome {
        Ok(held) => format!("proven, {held} jobs taken from the killed worker"),
        Err(_) => "FAILED".to_owned(),
    };
    let kill_at = kill_at(seed);
    println!(
        "run {number}/{runs} seed {seed} kill at {kill_at:.3}: {verdict} ({:.1} s)",
        begun.elapsed().as_secs_f64()
    );
    outcome.map(drop)
}

/// Answers how many jobs the killed worker held.
fn run(plan: &Plan, seed: u64) -> Result<u64, Box<dyn Error>> {
    let mut demo = Command::new(&plan.program);
    demo.args(["--json", "--seed", &seed.to_string(), "--kill-at", &format!("{:.3}", kill_at(seed))]);
    demo.args(&plan.arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running::start(&mut demo)?;
    let mut output = running.handle().stdout.take().ok_or("the demo has no output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let status = running.wait_for(plan.limit)?;
    let status = status.ok_or_else(|| format!("still running after {} s, ended", plan.limit.as_secs()))?;
    let text = reader.join().map_err(|_| "the demo's output could not be read")??;
    if !status.success() {
        return Err(format!("the demo failed ({status}): {}", text.trim()).into());
    }
    Ok(proof(&text)?)
}

/// Where in its run the demo is to be killed, as a fraction: spread evenly over any row of seeds, and the same for the
/// same seed. Multiples of the golden ratio, modulo one, never bunch.
fn kill_at(seed: u64) -> f64 {
    let spread = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let unit = f64::from(u32::try_from(spread).unwrap_or(u32::MAX)) / f64::from(u32::MAX);
    0.05 + 0.9 * unit
}

/// The demo's report is its whole output or its last line. Answers how many jobs the killed worker held: a run in which nobody
/// was killed proves nothing.
fn proof(output: &str) -> Result<u64, String> {
    let report = [output, output.trim().lines().last().unwrap_or_default()]
        .iter()
        .find_map(|text| serde_json::from_str::<Value>(text).ok())
        .ok_or_else(|| format!("the demo printed no JSON: {}", output.trim()))?;
    if report["proof"] != Value::Bool(true) {
        return Err(format!("no proof: {report}"));
    }
    report["killed_worker"]["held"]
        .as_u64()
        .filter(|held| *held > 0)
        .ok_or_else(|| format!("no worker was killed: {report}"))
}

#[cfg(test)]
mod tests {
    use super::{kill_at, proof};

    /// The points of kill are spread over the whole run: each tenth of it is met by any hundred seeds in a row.
    #[test]
    fn kills_are_spread() {
        for first in [0, 1, 1_000_000, u64::MAX - 10] {
            let mut met = [false; 9];
            for seed in (0..100).map(|number| u64::wrapping_add(first, number)) {
                let at = kill_at(seed);
                assert!((0.05..=0.95).contains(&at));
                let tenth = (0..9).find(|tenth| at < 0.05 + 0.1 * f64::from(tenth + 1)).unwrap_or(8);
                met[usize::try_from(tenth).expect("small")] = true;
            }
            assert_eq!(met, [true; 9]);
        }
    }

    /// Only a report that says `"proof": true`, of a run in which a worker was killed, is a proof.
    #[test]
    fn proof_is_said_outright() {
        let report = |proof, killed| format!("{{\"proof\": {proof}, \"killed_worker\": {killed}}}");
        assert_eq!(proof(&report("true", "{\"held\": 7}")), Ok(7));
        assert_eq!(proof(&format!("some line\n{}\n", report("true", "{\"held\": 7}"))), Ok(7));
        assert!(proof(&report("true", "null")).is_err());
        assert!(proof(&report("true", "{\"held\": 0}")).is_err());
        assert!(proof(&report("false", "{\"held\": 7}")).is_err());
        assert!(proof(&report("\"true\"", "{\"held\": 7}")).is_err());
        assert!(proof("{}").is_err());
        assert!(proof("").is_err());
    }
}
