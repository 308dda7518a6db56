//! Tells a postmaster that takes connections from one that is still on its way.

use std::path::Path;

use rustix::process::Pid;

/// Whether `postmaster.pid` in the data folder says that this postmaster is ready.
///
/// Line 1 is its process id and line 8 its state. After a crash the file of the dead postmaster is still there and
/// still says `ready`, so both must be right.
pub(super) fn is_ready(data: &Path, postmaster: Pid) -> bool {
    std::fs::read_to_string(data.join("postmaster.pid")).is_ok_and(|text| says_ready(&text, postmaster))
}

fn says_ready(text: &str, postmaster: Pid) -> bool {
    let mut lines = text.lines().map(str::trim);
    let pid = lines.next().and_then(|line| line.parse().ok());
    pid == Some(postmaster.as_raw_nonzero().get()) && lines.nth(6) == Some("ready")
}

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::says_ready;

    fn file(pid: i32, state: &str) -> String {
        format!("{pid}\n/data\n1700000000\n5432\n\n127.0.0.1\n 1 2\n{state}\n")
    }

    /// Ready is what the running postmaster says of itself, not what a dead one left behind.
    #[test]
    fn ready_is_said_by_this_postmaster() {
        let ours = Pid::from_raw(42).expect("not zero");
        assert!(says_ready(&file(42, "ready   "), ours));
        assert!(!says_ready(&file(42, "starting"), ours));
        assert!(!says_ready(&file(41, "ready   "), ours));
        assert!(!says_ready("42\n/data\n", ours));
    }
}
