//! Browsers without a window, by WebDriver.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use outbox_testing::eventually;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// How long something in a page may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Chromium's driver, on a port of its own. It ends with the handle, and its browsers with it.
pub(crate) struct Driver {
    url: String,
    _process: Child,
}

/// Light or dark, as the system's settings would say.
#[derive(Clone, Copy)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

/// A browser, with an empty profile.
pub(crate) struct Browser {
    pub(crate) client: Client,
    name: &'static str,
    _profile: TempDir,
}

impl Driver {
    pub(crate) async fn start() -> Self {
        let program = std::env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
        let mut process =
            Command::new(&program).arg("--port=0").stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap_or_else(
                |error| panic!("`{program}` does not start ({error}): run `cargo xtask test --browser`"),
            );
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines.next_line().await.unwrap().expect("the driver says its port");
            if let Some((_, port)) = line.rsplit_once("successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        Self { url: format!("http://127.0.0.1:{port}"), _process: process }
    }

    pub(crate) async fn browser(&self, name: &'static str, scheme: Scheme) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let mut connector = ClientBuilder::new(HttpConnector::new());
        let client = connector.capabilities(capabilities(profile.path(), scheme)).connect(&self.url).await;
        Browser { client: client.expect("a browser starts"), name, _profile: profile }
    }
}

fn capabilities(profile: &Path, scheme: Scheme) -> Map<String, Value> {
    let scheme = match scheme {
        Scheme::Dark => "--blink-settings=preferredColorScheme=0",
        Scheme::Light => "--blink-settings=preferredColorScheme=1",
    };
    let mut options = json!({ "args": [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,860",
        format!("--user-data-dir={}", profile.display()), scheme,
    ] });
    if let Ok(binary) = std::env::var("CHROMIUM") {
        options["binary"] = binary.into();
    }
    Map::from_iter([("goog:chromeOptions".to_owned(), options)])
}

impl Browser {
    pub(crate) async fn sign_in(&self, server: &str, token: &str) {
        self.client.goto(server).await.unwrap();
        self.see("#welcome:not([hidden])").await;
        self.write("#token", token).await;
        self.click("#sign-in button").await;
        self.see("#live[data-state=on]").await;
        self.see(".card").await;
        self.run("window.loadedOnce = true").await;
    }

    /// Waits until there is such an element.
    pub(crate) async fn see(&self, css: &str) -> Element {
        let found =
            self.client.wait().at_most(PATIENCE).every(Duration::from_millis(20)).for_element(Locator::Css(css));
        match found.await {
            Ok(element) => element,
            Err(error) => {
                self.picture("in-vain").await;
                panic!("{} waits for `{css}` in vain: {error}", self.name)
            }
        }
    }

    pub(crate) async fn click(&self, css: &str) {
        // The board is drawn anew at any time: what was found may be gone before the click.
        eventually(css, async || self.see(css).await.click().await.ok()).await;
    }

    pub(crate) async fn write(&self, css: &str, text: &str) {
        let field = self.see(css).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Waits until an element has this text.
    pub(crate) async fn read(&self, css: &str, text: &str) {
        let script =
            "return [...document.querySelectorAll(arguments[0])].some(one => one.textContent.includes(arguments[1]))";
        eventually(&format!("{} reads `{text}` in `{css}`", self.name), async || {
            let found = self.client.execute(script, vec![css.into(), text.into()]).await.unwrap();
            (found == true).then_some(())
        })
        .await;
    }

    /// Runs a script, and answers what it returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Whether the page is the one that was loaded at the beginning.
    pub(crate) async fn was_never_reloaded(&self) -> bool {
        self.run("return window.loadedOnce === true").await == true
    }

    /// A picture of it, for a person to look at: `target/tmp/browser/`.
    pub(crate) async fn picture(&self, of: &str) {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("browser");
        std::fs::create_dir_all(&folder).unwrap();
        let picture = self.client.screenshot().await.unwrap();
        std::fs::write(folder.join(format!("{}-{of}.png", self.name)), picture).unwrap();
    }
}
