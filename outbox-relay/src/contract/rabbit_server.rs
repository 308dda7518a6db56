//! A RabbitMQ node in a folder of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::process::listens;
use super::{PATIENCE, ServerProcess, find_program, free_port};

/// `rabbitmq-server`. It ends with this value, and with the process that started it. It takes seconds to start.
#[derive(Debug)]
pub struct RabbitServer {
    process: ServerProcess,
    port: u16,
    /// Its own ports for the distribution, which nobody else uses.
    inner: [u16; 2],
    folder: TempDir,
    /// Schedulers, of its own count.
    schedulers: Option<u32>,
    /// Removes the folder when this process is gone: a static value is never dropped.
    _cleaner: Child,
}

const CLEANER: &str = r#"read -r _; sleep 2; rm -rf -- "$1""#;

/// The name daemon is started with the node, so that it ends with it; the node finds it there.
const SCRIPT: &str = r#"epmd -address 127.0.0.1 & exec "$1""#;

impl RabbitServer {
    /// Starts one that listens on a port of its own without TLS, and waits until it does. `settings` are further lines of its configuration.
    ///
    /// # Panics
    /// When it is not on this machine, or does not start; the message says what to install.
    pub async fn start(settings: &str) -> Self {
        Self::listening(|port| format!("listeners.tcp.1 = 127.0.0.1:{port}\n{settings}"), Some(1)).await
    }

    /// The same one with as many schedulers as there are processors, as in production: for measurements.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub async fn unbounded() -> Self {
        Self::listening(|port| format!("listeners.tcp.1 = 127.0.0.1:{port}\n"), None).await
    }

    /// Starts one with this configuration, which names its listener, on the port that it is given.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub async fn listening(configuration: impl Fn(u16) -> String, schedulers: Option<u32>) -> Self {
        let folder = TempDir::new().expect("there is room");
        let (port, inner) = (free_port(), [free_port(), free_port()]);
        let configuration = format!("{}\nlog.file = false\n", configuration(port));
        std::fs::write(folder.path().join("rabbitmq.conf"), configuration).expect("there is room");
        let process = spawn(&folder, port, inner, schedulers);
        let server = Self { process, port, inner, schedulers, _cleaner: cleaner(&folder), folder };
        listens(server.address()).await;
        server
    }

    /// Where it listens, also when it was started again.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The URL for one without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@{}/%2f", self.address())
    }

    /// What it runs as.
    #[must_use]
    pub fn process(&self) -> &ServerProcess {
        &self.process
    }

    /// `SIGTERM`, as `systemctl stop` does it, and waits until it has ended.
    pub async fn stop(&mut self) {
        self.process.terminate(PATIENCE).await;
    }

    /// `SIGKILL`, of the name daemon too.
    ///
    /// RabbitMQ 3.10 writes down which quorum queues it has up to half a second after it has answered that they are there, and one that is
    /// not written down has no leader for ever. Queues of tests are that young, so the node is told to write that down first; of what
    /// queues hold it has to have written everything by itself.
    ///
    /// # Panics
    /// When it cannot be told.
    pub async fn kill(&mut self) {
        let said = self.evaluate("dets:sync(ra_directory_reverse).").await;
        assert_eq!(said, "ok");
        self.process.kill();
    }

    /// How many messages a quorum queue has, also those that were delivered and not acknowledged; 0 when it is not there.
    ///
    /// # Panics
    /// When the node does not say.
    pub async fn messages(&self, queue: &str) -> usize {
        let ask = format!(
            "case rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"{queue}\">>)) of \
             {{ok, Q}} -> {{ok, {{_, N}}, _}} = ra:leader_query(amqqueue:get_pid(Q), fun rabbit_fifo:query_messages_total/1), N; \
             _ -> 0 end."
        );
        self.evaluate(&ask).await.parse().expect("a number")
    }

    /// Starts it again on what it had stored, and waits until it listens.
    pub async fn restart(&mut self) {
        self.process = spawn(&self.folder, self.port, self.inner, self.schedulers);
        listens(self.address()).await;
    }

    /// Has the node evaluate an expression of Erlang; what it came to.
    ///
    /// # Panics
    /// When it fails.
    pub async fn evaluate(&self, expression: &str) -> String {
        let mut command = Command::new(program("rabbitmqctl"));
        command.args(["--node", &node_name(self.port), "--quiet", "eval", expression]);
        command.env("HOME", self.folder.path()).env("ERL_EPMD_PORT", self.inner[1].to_string());
        let said = tokio::task::spawn_blocking(move || command.output()).await.expect("it does not panic");
        let said = said.expect("`rabbitmqctl` can be started");
        let (out, error) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
        assert!(said.status.success(), "{expression} {out} {error}");
        out.trim().to_owned()
    }
}

fn cleaner(folder: &TempDir) -> Child {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", CLEANER, "cleaner"]).arg(folder.path()).process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("there is a shell")
}

/// The script itself, not the one that Debian puts before it, which changes the user.
fn program(name: &str) -> PathBuf {
    let plain = Path::new("/usr/lib/rabbitmq/bin").join(name);
    if plain.is_file() { plain } else { find_program(name, "rabbitmq-server") }
}

fn node_name(port: u16) -> String {
    format!("t{port}@localhost")
}

fn spawn(folder: &TempDir, port: u16, [distribution, names]: [u16; 2], schedulers: Option<u32>) -> ServerProcess {
    let at = |name: &str| folder.path().join(name);
    let pid_file = at("pid");
    // One scheduler that does not spin: tests have the processors.
    let schedulers = schedulers.map(|count| format!("+S {count}:{count} +sbwt none ")).unwrap_or_default();
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "rabbitmq"])
        .arg(program("rabbitmq-server"))
        .env("RABBITMQ_NODENAME", node_name(port))
        .env("RABBITMQ_MNESIA_BASE", at("data"))
        .env("RABBITMQ_LOG_BASE", at("log"))
        .env("RABBITMQ_CONFIG_FILE", at("rabbitmq.conf"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", at("plugins"))
        .env("RABBITMQ_PID_FILE", &pid_file)
        .env("RABBITMQ_DIST_PORT", distribution.to_string())
        .env("ERL_EPMD_PORT", names.to_string())
        .env(
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            format!("{schedulers}-kernel inet_dist_use_interface {{127,0,0,1}}"),
        )
        .env("HOME", folder.path());
    ServerProcess::spawn(&command).with_pid_file(pid_file)
}
