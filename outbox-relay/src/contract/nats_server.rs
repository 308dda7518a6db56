//! A NATS server with JetStream in a folder of its own.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use tempfile::TempDir;

use super::process::listens;
use super::{ServerProcess, find_program, free_port};

/// `nats-server`. It ends with this value, and with the process that started it.
#[derive(Debug)]
pub struct NatsServer {
    process: ServerProcess,
    port: u16,
    store: TempDir,
    /// Beside those that each has.
    arguments: Vec<OsString>,
}

impl NatsServer {
    /// Starts one, with further arguments for its command line, and waits until it listens.
    ///
    /// # Panics
    /// When it is not on this machine, or does not start; the message says what to install.
    pub async fn start(arguments: &[OsString]) -> Self {
        let (port, store, arguments) = (free_port(), TempDir::new().expect("there is room"), arguments.to_vec());
        let server = Self { process: spawn(port, &store, &arguments), port, store, arguments };
        listens(server.address()).await;
        server
    }

    /// Where it listens, also when it was started again.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// What it runs as.
    #[must_use]
    pub fn process(&self) -> &ServerProcess {
        &self.process
    }

    /// `SIGTERM`, and waits until it has ended.
    pub async fn stop(&mut self) {
        self.process.terminate(super::PATIENCE).await;
    }

    /// `SIGKILL`.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again on what it had stored, and waits until it listens.
    pub async fn restart(&mut self) {
        self.process = spawn(self.port, &self.store, &self.arguments);
        listens(self.address()).await;
    }
}

fn spawn(port: u16, store: &TempDir, arguments: &[OsString]) -> ServerProcess {
    let mut command = Command::new(find_program("nats-server", "nats-server"));
    command.args(["-a", "127.0.0.1", "-js", "-p", &port.to_string(), "-sd"]).arg(store.path()).args(arguments);
    ServerProcess::spawn(&command)
}
