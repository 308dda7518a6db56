//! The server: answers requests and runs jobs, in one process.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use outbox::{Outbox, OutboxBuilder};
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::mail::Mailer;
use crate::search::{self, SearchIndex};
use crate::webhooks::{Reach, webhooks};
use crate::{audit, comments, hooks, issues, notifications, projects, users, wiki};

/// The tables of each module, those that others refer to first.
const TABLES: [&str; 8] = [
    users::TABLES,
    projects::TABLES,
    issues::TABLES,
    comments::TABLES,
    wiki::TABLES,
    audit::TABLES,
    notifications::TABLES,
    hooks::TABLES,
];
/// How long a client that does not read may hold the server up when it ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// What a server needs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens; port 0 for any that is free.
    pub listen: SocketAddr,
    /// Where mail goes, as `127.0.0.1:2525`.
    pub mail: String,
    /// The folder of the search index.
    pub index: PathBuf,
    /// Where webhooks may go.
    pub webhooks: Reach,
}

/// A server that is ready to [`run`](Self::run).
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: App,
}

/// Brings the tables up to date: the outbox's, then those of each module.
///
/// # Errors
/// When the database refuses a statement.
pub async fn migrate(pool: &PgPool) -> anyhow::Result<()> {
    outbox::migrate(pool).await?;
    webhooks(pool.clone(), Reach::default())?.migrate().await?;
    for tables in TABLES {
        sqlx::raw_sql(tables).execute(pool).await?;
    }
    Ok(())
}

impl Server {
    /// Opens a server on a migrated database. `tuned` has the last word on its outbox.
    ///
    /// # Errors
    /// When the address is taken, the index cannot be opened, or the wiring is wrong.
    pub async fn open(
        pool: PgPool,
        settings: &Settings,
        tuned: impl FnOnce(OutboxBuilder) -> OutboxBuilder,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(settings.listen)
            .await
            .with_context(|| format!("{} cannot be listened on; say another address by --listen", settings.listen))?;
        let search = SearchIndex::open(&settings.index).context("the search index cannot be opened")?;
        let webhooks = webhooks(pool.clone(), settings.webhooks)?;
        let mailer = Mailer::new(&settings.mail)?;
        let builder = Outbox::builder(pool.clone()).state(mailer).state(pool).state(webhooks.clone());
        let outbox = tuned(handlers(builder, &search)).build().await?;
        if search.writes() && search.is_empty() {
            search::rebuild(&outbox).await?;
        }
        Ok(Self { listener, app: App { outbox, search, webhooks } })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Its outbox.
    #[must_use]
    pub fn outbox(&self) -> &Outbox {
        &self.app.outbox
    }

    /// Answers requests and runs jobs until `shutdown`.
    ///
    /// # Errors
    /// When either cannot go on; the other is ended then.
    pub async fn run(self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let outbox = self.app.outbox.clone();
        let ending = shutdown.child_token();
        let working = async {
            let ended = outbox.run(ending.clone().cancelled_owned()).await.context("the worker ended");
            ending.cancel();
            ended
        };
        let serving = async {
            let ended = self.serve(ending.clone()).await;
            ending.cancel();
            ended
        };
        let (worked, served) = tokio::join!(working, serving);
        worked.and(served)
    }

    /// Answers requests until `shutdown`, and runs no job.
    ///
    /// # Errors
    /// When it cannot listen any more.
    pub async fn serve(self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let outbox = self.app.outbox.clone();
        let serving = axum::serve(self.listener, self.app.router());
        let serving = serving.with_graceful_shutdown(shutdown.clone().cancelled_owned());
        let farewell = async {
            shutdown.cancelled().await;
            // Open streams are open responses, which a graceful end waits for.
            outbox.live().close();
            tokio::time::sleep(FAREWELL).await;
        };
        tokio::select! {
            ended = serving => ended.context("the server ended"),
            () = farewell => Ok(()),
        }
    }
}

/// All handlers, or all but those that write to the index, where another process does: their jobs are left to it.
fn handlers(builder: OutboxBuilder, search: &SearchIndex) -> OutboxBuilder {
    let builder = builder.state(search.clone());
    if search.writes() {
        return builder;
    }
    let registry = outbox::Registry::linked();
    let modules = registry.subscribers().iter().map(|handler| handler.module()).filter(|module| *module != "search");
    builder.modules(modules)
}
