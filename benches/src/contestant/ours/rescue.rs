//! rescue: a worker is killed with a job in hand, until that job starts in another one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use outbox::{BuildError, Outbox};
use sqlx::PgPool;
use tokio::sync::oneshot;

use super::super::seed::{self, Kind};
use super::super::vault::{self, VAULT, VaultOpened};
use super::super::{Cue, Settings, database, pool};
use crate::protocol::Done;

/// The worker that is killed.
#[derive(Debug, clap::Args)]
pub(crate) struct Holding {
    /// Of its lease.
    seconds: u64,
}

/// What it says when it holds a job.
const HELD: &str = "held";

/// In the process that is killed.
pub(crate) async fn hold(holding: Holding) -> anyhow::Result<()> {
    vault::hold();
    let mut begun = vault::listen()?;
    let outbox = guard(&pool(database()?, 2).await?, holding.seconds).await?;
    let told = async {
        begun.recv().await;
        // Whoever listens is killing this process, and sees at the end of its output that it failed.
        let _ = writeln!(std::io::stdout(), "{HELD}");
        std::future::pending::<()>().await;
    };
    Ok(outbox.run(told).await?)
}

pub(in super::super) async fn rescue(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let lease = settings.number("lease")?;
    seed::jobs(Kind::Orders, settings.number("jobs")?).await?;
    let pool = pool(database()?, 2).await?;
    let outbox = guard(&pool, lease).await?;
    let mut tx = outbox.begin().await?;
    outbox.publish(&mut tx, &VaultOpened { vault: 1 }).await?;
    tx.commit().await?;
    let mut victim = tokio::task::spawn_blocking(move || Victim::start(lease)).await??;
    let mut begun = vault::listen()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let rescuer = outbox.clone();
    let running = tokio::spawn(async move { rescuer.run(async move { drop(stopped.await) }).await });
    cue.ready().await?;
    let killed = Instant::now();
    victim.kill()?;
    let started = begun.recv().await.context("the worker ended")?;
    drop(stop);
    running.await??;
    cue.done(Done { seconds: started.duration_since(killed).as_secs_f64(), jobs: 1, ..Done::default() }).await
}

/// The waiting jobs are of other modules: they are in the way, and not worked off.
async fn guard(pool: &PgPool, lease: u64) -> Result<Outbox, BuildError> {
    Outbox::builder(pool.clone()).modules([VAULT]).lease(Duration::from_secs(lease)).build().await
}

/// Killed when it is dropped.
struct Victim(Child);

impl Victim {
    /// Started, and it holds the job.
    fn start(lease: u64) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["hold", &lease.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut victim = Self(command.spawn().context("start the worker that is to be killed")?);
        let mut lines = BufReader::new(victim.0.stdout.take().context("its output")?).lines();
        let held = lines.by_ref().map_while(Result::ok).any(|line| line == HELD);
        anyhow::ensure!(held, "the worker ended before it held the job");
        Ok(victim)
    }

    /// SIGKILL.
    fn kill(&mut self) -> std::io::Result<()> {
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // Either fails only when it has ended already.
        let _ = self.kill();
    }
}
