//! A server as a process of its own, and two people in front of two browsers.

use std::process::Stdio;

use outbox_testing::{Sandbox, eventually};
use solopm::mail::PostOffice;
use sqlx::ConnectOptions as _;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::driver::{Browser, Driver, Scheme};

pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) ann: Browser,
    pub(crate) bob: Browser,
    pub(crate) post: PostOffice,
    pub(crate) sandbox: Sandbox,
    _driver: Driver,
    _index: TempDir,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        let (sandbox, post) = (Sandbox::database().await, PostOffice::open().await.unwrap());
        let index = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_solopm"));
        command.env("DATABASE_URL", sandbox.pool().connect_options().to_url_lossy().as_str());
        command.args(["--sample", "--mail", &post.address(), "--index"]).arg(index.path());
        let server = Server::start(command).await;
        let driver = Driver::start().await;
        let (ann, bob) = tokio::join!(driver.browser("ann", Scheme::Light), driver.browser("bob", Scheme::Dark));
        tokio::join!(ann.sign_in(&server.url, "ann"), bob.sign_in(&server.url, "bob"));
        Self { server, ann, bob, post, sandbox, _driver: driver, _index: index }
    }

    /// Waits until nothing is left to be done.
    pub(crate) async fn settled(&self) {
        let live = "select count(*) from system.job_live where job_type not like 'webhooks.prune'";
        eventually("every job is done", async || (self.sandbox.number(live).await == 0).then_some(())).await;
    }

    /// Both browsers end.
    pub(crate) async fn clear(self) {
        self.ann.client.close().await.unwrap();
        self.bob.client.close().await.unwrap();
    }
}

/// The program, which can be killed and started again at the same address.
pub(crate) struct Server {
    pub(crate) url: String,
    command: Command,
    process: Child,
}

impl Server {
    async fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).kill_on_drop(true);
        let (process, url) = started(&mut command, "127.0.0.1:0").await;
        Self { url, command, process }
    }

    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }

    pub(crate) async fn start_again(&mut self) {
        let address = self.url.trim_start_matches("http://").to_owned();
        let (process, url) = started(&mut self.command, &address).await;
        assert_eq!(url, self.url);
        self.process = process;
    }
}

async fn started(command: &mut Command, listen: &str) -> (Child, String) {
    command.env("SOLOPM_LISTEN", listen);
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let url = lines.next_line().await.unwrap().expect("the server says where it is");
    (process, url)
}
