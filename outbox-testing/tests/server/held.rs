//! A process of its own that holds a server, so that a test can run it as somebody else, or kill it.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `throwaway-postgres`, ended on drop.
pub(crate) struct Held {
    child: Child,
    pub(crate) postmaster: i32,
    pub(crate) data: PathBuf,
    pub(crate) url: String,
}

impl Held {
    /// Starts it and waits until it has said what it holds; `prepare` sets its surroundings.
    pub(crate) fn start(prepare: impl FnOnce(&mut Command)) -> Self {
        Self::run(Command::new(env!("CARGO_BIN_EXE_throwaway-postgres")), prepare)
    }

    /// The same as `nobody`, for a test that runs as root. The program is copied to where `nobody` can read it.
    pub(crate) fn start_as_nobody(home: &Path) -> Self {
        let program = home.join("throwaway-postgres");
        std::fs::copy(env!("CARGO_BIN_EXE_throwaway-postgres"), &program).expect("copy");
        Self::run(Command::new(program), |command| {
            command.uid(65534).gid(65534).current_dir("/");
            command.env("HOME", home).env("OUTBOX_CACHE_DIR", home.join("cache"));
        })
    }

    fn run(mut command: Command, prepare: impl FnOnce(&mut Command)) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(&mut command);
        let mut child = command.spawn().expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let lines: Vec<String> = output.lines().take(3).map_while(Result::ok).collect();
        let [postmaster, data, url] = lines.as_slice() else {
            let mut reason = String::new();
            let _ = child.stderr.take().expect("piped").read_to_string(&mut reason);
            panic!("no server: {reason}");
        };
        let postmaster = postmaster.parse().expect("a process id");
        Self { child, postmaster, data: data.into(), url: url.clone() }
    }

    /// `SIGKILL`, after which the process itself can do nothing for its server any more.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("ours to kill");
        self.child.wait().expect("killed");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Either fails only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the program says when it cannot start a server.
pub(crate) fn refusal(prepare: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throwaway-postgres"));
    prepare(&mut command);
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder that everybody may use, for one test.
pub(crate) struct Home(pub(crate) PathBuf);

impl Home {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("outbox-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder below the temporary one");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).expect("ours");
        Self(path)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until `state` holds, and fails when it does not in time.
pub(crate) fn eventually(what: &str, mut state: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(40);
    while !state() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
