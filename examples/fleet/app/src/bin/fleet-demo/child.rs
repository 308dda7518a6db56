//! The services and their operators' commands, as processes of their own. None outlives the play.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStdin, Command};

/// How long a process has to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long an operator's command may take.
const COMMAND_PATIENCE: Duration = Duration::from_mins(1);

/// A running process. Dropping it ends it with SIGKILL.
#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    process: tokio::process::Child,
    /// Open as long as we live, and the service with us.
    _input: Option<ChildStdin>,
}

impl Child {
    /// Starts the program of this name that lies beside ours. What it complains of is told under its `name`.
    pub(crate) fn start(
        program: &str,
        name: &str,
        arguments: &[String],
        environment: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(beside(program)?);
        command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value))).kill_on_drop(true);
        // A group of its own: Ctrl-C is for us, and we end the others in good order.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("`{program}` cannot be started"))?;
        let heading = name.to_owned();
        if let Some(complaints) = process.stderr.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(complaints).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    eprintln!("{heading} | {line}");
                }
            });
        }
        Ok(Self { name: name.to_owned(), _input: process.stdin.take(), process })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    /// Stops it where it stands, or lets it go on, or asks it to end.
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        // The id is ours until the process was waited for, which this handle alone does.
        let pid = self.process.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let pid = pid.with_context(|| format!("{} has ended by itself", self.name))?;
        kill_process(pid, signal).with_context(|| format!("{} cannot be signalled", self.name))
    }

    /// Ends it with SIGKILL.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.signal(Signal::TERM)?;
        match tokio::time::timeout(PATIENCE, self.process.wait()).await {
            Ok(status) if status.as_ref().is_ok_and(ExitStatus::success) => Ok(()),
            Ok(status) => bail!("{} did not end in good order: {}", self.name, status?),
            Err(_) => bail!("{} does not end when it is asked to", self.name),
        }
    }
}

/// Runs an operator's command to its end; what it answers is a line of JSON.
pub(crate) async fn command(
    program: &str,
    arguments: &[String],
    environment: &[(&str, String)],
) -> anyhow::Result<serde_json::Value> {
    let mut command = Command::new(beside(program)?);
    command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value))).kill_on_drop(true);
    let running = command.stdin(Stdio::null()).process_group(0).output();
    let output = tokio::time::timeout(COMMAND_PATIENCE, running).await;
    let asked = || format!("`{program} {}`", arguments.join(" "));
    let output = output.with_context(|| format!("{} does not end", asked()))??;
    if !output.status.success() {
        bail!("{} failed: {}", asked(), String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{} answered something else than JSON", asked()))
}

fn beside(program: &str) -> anyhow::Result<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe()?.with_file_name(file);
    if !path.is_file() {
        bail!(
            "`{program}` is not beside this program: build all of them with `cargo build -p fleet-app`, or run `cargo xtask fleet`, which does"
        );
    }
    Ok(path)
}
