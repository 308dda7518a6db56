//! A server's process, which does not outlive its test.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::net::TcpStream;

/// Where programs of servers are, beside the folders of `PATH`.
const FOLDERS: [&str; 6] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/lib/rabbitmq/bin",
    "/opt/homebrew/sbin",
    "/opt/homebrew/bin",
];

/// Starts the program behind it, says its process id, and kills the whole group, itself too, when nobody holds the pipe to us any more.
const SCRIPT: &str = r#""$@" </dev/null >/dev/null 2>&1 & echo $!; read -r _; kill -s KILL -- -$$"#;

/// A server's process. Killed when it is dropped, and when the process that started it is gone.
#[derive(Debug)]
pub struct ServerProcess {
    shell: Child,
    pid: Pid,
    /// Where the server writes its process id, when a script stands before it.
    pid_file: Option<PathBuf>,
    alive: Option<ChildStdin>,
}

impl ServerProcess {
    /// Starts a server. What it says is not kept.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn spawn(command: &Command) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "server"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        // A group of its own: Ctrl-C is for us, and the server goes when we have gone.
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().expect("there is a shell");
        let alive = shell.stdin.take();
        let mut line = String::new();
        let output = shell.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("the shell says the process id");
        let pid = line.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
        Self { shell, pid, pid_file: None, alive }
    }

    /// The same server, which writes its process id there, because what was spawned is a script before it.
    #[must_use]
    pub fn with_pid_file(mut self, file: PathBuf) -> Self {
        self.pid_file = Some(file);
        self
    }

    /// `SIGSTOP`. Returns when it has stopped.
    pub fn freeze(&self) {
        let server = self.signal(Signal::STOP);
        while !has_stopped(server) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// `SIGCONT`.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) -> Pid {
        let said = self.pid_file.as_deref().and_then(|file| std::fs::read_to_string(file).ok());
        let server = said.and_then(|text| Pid::from_raw(text.trim().parse().ok()?)).unwrap_or(self.pid);
        kill_process(server, signal).expect("the server is there");
        server
    }

    /// Whether it was killed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.alive.is_none()
    }

    /// `SIGTERM`, and waits until it has ended by itself; what is left of it behind `limit` is killed.
    pub async fn terminate(&mut self, limit: Duration) {
        let server = self.signal(Signal::TERM);
        let ending = async {
            while test_kill_process(server).is_ok() && !is_zombie(server) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(limit, ending).await;
        self.kill();
    }

    /// `SIGKILL`, and waits until it is gone.
    pub fn kill(&mut self) {
        if self.alive.take().is_some() {
            // The shell kills the group and ends with it.
            let _ = self.shell.wait();
        }
    }
}

/// Whether it has ended, and nobody asked how.
fn is_zombie(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

/// Whether each of its threads has: they stop one after another. (Where there is no `/proc`, what `ps` says of the process.)
fn has_stopped(process: Pid) -> bool {
    let id = process.as_raw_nonzero();
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else {
        let said = Command::new("ps").args(["-o", "stat=", "-p", &id.to_string()]).output();
        return said.is_ok_and(|said| said.stdout.starts_with(b"T"));
    };
    let stopped = |thread: PathBuf| {
        // `id (name) state ..`, and the name may hold anything.
        let stat = std::fs::read_to_string(thread.join("stat")).unwrap_or_default();
        stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('T') || rest.is_empty())
    };
    threads.flatten().all(|thread| stopped(thread.path()))
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until somebody listens there.
pub(crate) async fn listens(address: SocketAddr) {
    let listening = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(super::PATIENCE, listening).await.expect("the server listens");
}

/// A server's program, in the folders of `PATH` and where distributions put servers.
///
/// # Panics
/// When it is not there; the message says what to install.
#[must_use]
pub fn find_program(name: &str, package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| Path::is_file(file)).unwrap_or_else(|| {
        panic!("`{name}` is not on this machine: `apt-get install {package}`, or put it on the PATH (`cargo xtask test` does, as root on Debian)")
    })
}

/// A port that nobody listens on at the moment, and that no connection is given as its own by the system: those begin at 32,768 (at 49,152
/// elsewhere), and one of them would keep a server that takes seconds to start from its port.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn free_port() -> u16 {
    let ports = (0..1_000).map(|_| rand::random_range(10_000..30_000));
    ports.into_iter().find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("there is a port")
}
