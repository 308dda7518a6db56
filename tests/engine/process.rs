//! Workers that are processes of their own: this test binary again, told by its environment to be one.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox::{Outbox, Registry};
use outbox_testing::{Sandbox, eventually};
use sqlx::PgPool;

use crate::floor::{Floor, LEASE, Stage, say};

const SCHEMA: &str = "OUTBOX_TEST_CHILD_SCHEMA";
const URL: &str = "OUTBOX_TEST_CHILD_URL";
const HANDLERS: &str = "OUTBOX_TEST_CHILD_HANDLERS";

/// A worker process. Killed when it is dropped.
pub struct Process {
    child: std::process::Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts a worker process on the floor's schema, with these handlers.
    pub async fn start(floor: &Floor, handlers: &[&str]) -> Self {
        Self::spawn(command(floor, handlers).await)
    }

    /// The same, through this transaction pooler.
    pub fn start_through(pooler: &str, floor: &Floor, handlers: &[&str]) -> Self {
        Self::spawn(placed(floor, handlers, &[(URL, pooler), (outbox_testing::POOLER_VARIABLE, pooler)]))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (out, heard) = (child.stdout.take().unwrap(), Arc::clone(&lines));
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                heard.lock().unwrap().push(line);
            }
        });
        Self { child, lines }
    }

    /// How many lines said this.
    pub fn heard(&self, text: &str) -> usize {
        // The test harness begins its own line and leaves it open, so a marker can stand behind other text.
        self.lines.lock().unwrap().iter().filter(|line| line.ends_with(text)).count()
    }

    pub async fn until(&self, text: &str) {
        eventually(&format!("the process says `{text}`"), async || (self.heard(text) > 0).then_some(())).await;
    }

    /// By the shell, which has a `kill` everywhere.
    pub fn signal(&self, signal: &str) {
        let command = format!("kill -{signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success(), "{command}");
    }

    pub async fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        eventually("the process has ended", async || child.try_wait().unwrap()).await
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What starts a worker process on the floor's schema, with these handlers.
pub async fn command(floor: &Floor, handlers: &[&str]) -> Command {
    placed(floor, handlers, &[(URL, &Sandbox::url().await)])
}

/// The same, by way of this URL.
pub fn command_to(url: &str, floor: &Floor, handlers: &[&str]) -> Command {
    placed(floor, handlers, &[(URL, url)])
}

fn placed(floor: &Floor, handlers: &[&str], place: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "process::child", "--nocapture", "--test-threads=1"])
        .env(SCHEMA, floor.sandbox.schema())
        .envs(place.iter().copied())
        .env(HANDLERS, handlers.join(","))
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The same process, with this many KiB of address space, where the system bounds it, and without a core dump.
pub fn bounded(command: &Command, kib: u32) -> Command {
    let mut bounded = Command::new("sh");
    let limits = format!("ulimit -c 0; ulimit -v {kib} 2>/dev/null; exec \"$0\" \"$@\"");
    bounded.args(["-c", &limits]).arg(command.get_program()).args(command.get_args());
    bounded.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bounded.stdin(Stdio::null()).stderr(Stdio::null());
    bounded
}

/// How a worker process is told its shutdown budget, in milliseconds.
pub const BUDGET: &str = "OUTBOX_TEST_CHILD_BUDGET";

/// What a worker process does; in the test run itself, nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(schema) = std::env::var(SCHEMA) else { return };
    let (url, handlers) = (std::env::var(URL).unwrap(), std::env::var(HANDLERS).unwrap());
    let handlers: Vec<_> = handlers.split(',').collect();
    let budget = std::env::var(BUDGET).map_or(1_000, |budget| budget.parse().unwrap());
    let pool = PgPool::connect(&url).await.unwrap();
    let stage = Stage::new(format!("\"{schema}\".done"), true);
    let outbox = Sandbox::suited(Outbox::builder(pool))
        .schema(schema)
        .registry(Registry::linked().with_subscribers(|one| handlers.contains(&one.name)))
        .state(stage)
        .lease(LEASE)
        .poll_interval(Duration::from_millis(50))
        .shutdown_budget(Duration::from_millis(budget))
        .build()
        .await
        .unwrap();
    say("ready");
    outbox.run(outbox::shutdown_signal()).await.unwrap();
    say("orderly end");
}
