//! Runs a program to its end, but not for ever: installers wait on networks, and a test run must not.

use std::io::{ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How often a child is looked at. Short against anything that is waited for here.
pub(super) const GLANCE: Duration = Duration::from_millis(10);

/// Runs `command` for at most `limit` and returns what it printed, or the reason why that is of no use.
pub(super) fn run(command: &mut Command, limit: Duration) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (mut child, output) = spawn(command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("`{name}` is not there"),
        ErrorKind::PermissionDenied => {
            format!("`{name}` may not be run by this account, or lies below a closed folder")
        }
        _ => format!("`{name}` could not be run: {error}"),
    })?;
    let ended = wait(&mut child, limit).map_err(|error| format!("`{name}`: {error}"))?;
    let Some(status) = ended else {
        // Both may fail only because it has just ended by itself.
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("`{name}` took over {} s", limit.as_secs()));
    };
    // A grandchild may hold the pipe open; what has been printed until now is enough then.
    let text = output.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    if status.success() { Ok(text) } else { Err(format!("`{name}` failed ({status}): {}", tail(&text, 12))) }
}

/// Waits until `child` ends; `None` when it is still running after `limit`.
pub(super) fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        let ended = child.try_wait()?;
        if ended.is_some() || Instant::now() >= deadline {
            return Ok(ended);
        }
        std::thread::sleep(GLANCE);
    }
}

/// The last `lines` lines of a text that may be long.
pub(super) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.trim().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

fn spawn(command: &mut Command) -> std::io::Result<(Child, mpsc::Receiver<String>)> {
    let (mut reader, writer) = std::io::pipe()?;
    let child = command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).spawn();
    // The command keeps its ends of the pipe until it is told otherwise, and the reader would wait for them.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (sender, output) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = reader.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    Ok((child?, output))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::run;

    /// A program that hangs costs its limit and not more.
    #[test]
    fn gives_up_at_the_limit() {
        let begun = Instant::now();
        let outcome = run(Command::new("sleep").arg("60"), Duration::from_millis(100));
        assert!(outcome.is_err_and(|why| why.contains("took over")));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    /// A failure carries what the program said about it.
    #[test]
    fn failure_carries_the_output() {
        let outcome = run(Command::new("sh").args(["-c", "echo the reason >&2; exit 3"]), Duration::from_secs(20));
        assert!(outcome.is_err_and(|why| why.contains("the reason")));
    }

    /// A program that is not installed is said to be missing, not "os error 2".
    #[test]
    fn missing_program_is_named() {
        let outcome = run(&mut Command::new("no-such-program"), Duration::from_secs(1));
        assert_eq!(outcome, Err("`no-such-program` is not there".to_owned()));
    }
}
