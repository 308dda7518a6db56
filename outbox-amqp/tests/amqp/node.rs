//! A RabbitMQ node in a folder of its own. It takes seconds to start, so tests share two: one that nobody disturbs, and one that belongs to
//! one test at a time, which may kill and freeze it.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use outbox_amqp::lapin::{Connection, ConnectionProperties};
use outbox_relay::contract::{PATIENCE, ServerProcess, find_program, free_port};
use tempfile::TempDir;
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard};

/// What the node takes in one message.
pub const MAX_MESSAGE: usize = 1 << 20;

static QUIET: OnceCell<Node> = OnceCell::const_new();
static DISTURBED: OnceCell<Arc<Mutex<Node>>> = OnceCell::const_new();

pub struct Node {
    process: ServerProcess,
    port: u16,
    /// Its own ports for the distribution, which no test uses.
    inner: [u16; 2],
    folder: TempDir,
    /// Removes the folder when this process is gone: a static value is never dropped.
    _cleaner: Child,
}

const CLEANER: &str = r#"read -r _; sleep 2; rm -rf -- "$1""#;

fn cleaner(folder: &TempDir) -> Child {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", CLEANER, "cleaner"]).arg(folder.path()).process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("there is a shell")
}

/// The name daemon is started with the node, so that it ends with it; the node finds it there.
const SCRIPT: &str = r#"epmd -address 127.0.0.1 & exec "$1""#;

impl Node {
    /// One that nobody disturbs.
    pub async fn quiet() -> &'static Self {
        QUIET.get_or_init(Self::start).await
    }

    /// One of the test's own until it drops it, as it was left.
    pub async fn disturbed() -> OwnedMutexGuard<Self> {
        let node = DISTURBED.get_or_init(async || Arc::new(Mutex::new(Self::start().await))).await;
        let mut node = Arc::clone(node).lock_owned().await;
        // A test that failed may have left it frozen, or killed.
        if node.process.has_ended() {
            node.restart().await;
        } else {
            node.thaw();
        }
        node
    }

    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let (port, inner) = (free_port(), [free_port(), free_port()]);
        let config =
            format!("listeners.tcp.1 = 127.0.0.1:{port}\nmax_message_size = {MAX_MESSAGE}\nlog.file = false\n");
        std::fs::write(folder.path().join("rabbitmq.conf"), config).unwrap();
        let process = spawn(&folder, port, inner);
        let node = Self { process, port, inner, _cleaner: cleaner(&folder), folder };
        node.answers().await;
        node
    }

    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// As any client sees it.
    pub async fn connection(&self) -> Connection {
        Connection::connect(&url(self.address()), ConnectionProperties::default()).await.unwrap()
    }

    /// Stops it as `systemctl stop` does. A quorum queue that was made in the seconds before a `SIGKILL` has no leader for ever behind it, in
    /// RabbitMQ 3.10 on a single node, and the queues of these tests are that young.
    pub async fn stop(&mut self) {
        self.process.terminate(PATIENCE).await;
    }

    pub async fn restart(&mut self) {
        self.process = spawn(&self.folder, self.port, self.inner);
        self.answers().await;
    }

    pub fn freeze(&self) {
        self.process.freeze();
    }

    pub fn thaw(&self) {
        self.process.thaw();
    }

    async fn answers(&self) {
        let answering = async {
            while Connection::connect(&url(self.address()), ConnectionProperties::default()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answering).await.expect("RabbitMQ answers");
    }
}

pub fn url(address: SocketAddr) -> String {
    format!("amqp://guest:guest@{address}/%2f")
}

/// The script itself, not the one that Debian puts before it, which changes the user.
fn program() -> PathBuf {
    let plain = PathBuf::from("/usr/lib/rabbitmq/bin/rabbitmq-server");
    if plain.is_file() { plain } else { find_program("rabbitmq-server", "rabbitmq-server") }
}

fn spawn(folder: &TempDir, port: u16, [distribution, names]: [u16; 2]) -> ServerProcess {
    let at = |name: &str| folder.path().join(name);
    let pid_file = at("pid");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "rabbitmq"])
        .arg(program())
        .env("RABBITMQ_NODENAME", format!("t{port}@localhost"))
        .env("RABBITMQ_MNESIA_BASE", at("data"))
        .env("RABBITMQ_LOG_BASE", at("log"))
        .env("RABBITMQ_CONFIG_FILE", at("rabbitmq.conf"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", at("plugins"))
        .env("RABBITMQ_PID_FILE", &pid_file)
        .env("RABBITMQ_DIST_PORT", distribution.to_string())
        .env("ERL_EPMD_PORT", names.to_string())
        // One scheduler that does not spin: the tests have the processors.
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}")
        .env("HOME", folder.path());
    ServerProcess::spawn(&command).with_pid_file(pid_file)
}
