//! A clock of the test's own: time that passes when the test says so.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor, PgPool, Row as _};

use crate::sandbox::Sandbox;

/// How the schema of a sandbox's clock is called.
pub(crate) fn schema(of: &str) -> String {
    format!("{of}_clock")
}

impl Sandbox {
    /// The same sandbox on a clock of its own, which stands still until [`advance`](Self::advance) moves it, so that what is due tomorrow is
    /// due when the test says so. Before any outbox is built.
    ///
    /// Every connection of the sandbox (its pools, and the engine's own beside them) sees this clock wherever SQL says `now()`,
    /// `statement_timestamp()`, `transaction_timestamp()` or `clock_timestamp()`: delayed jobs, retries, schedules on the clocks of their
    /// zone, `occurred_at`, ages and retention, and your own SQL on these pools.
    ///
    /// It does **not** move what asks another clock: `Utc::now()` and `Instant::now()` in a handler, tokio's timers (so a handler's timeout,
    /// and how often a worker polls), SQL's `current_timestamp`, `current_date` and `localtime`, the time within a new id, and connections of
    /// yours that were not made from [`options`](Self::options). They go past a pooler, which keeps no session's settings.
    ///
    /// ```no_run
    /// # use outbox_core as _;
    /// use std::time::Duration;
    /// # async fn remind(_: &outbox_postgres::Outbox) {}
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let sandbox = outbox_testing::Sandbox::new().await.with_clock().await;
    /// let outbox = sandbox.outbox().build().await?;
    ///
    /// remind(&outbox).await; // enqueues a mail with `.delay(Duration::from_hours(24))`
    /// assert!(outbox.run_due().await?.is_empty());
    ///
    /// sandbox.advance(Duration::from_hours(24)).await;
    /// assert_eq!(outbox.run_due().await?.handlers(), ["notifications.send_email"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the sandbox has no tables, or the database refuses.
    pub async fn with_clock(mut self) -> Self {
        let clock = schema(self.schema());
        let text = include_str!("clock.sql")
            .replace(":schemaname", &format!("\"{}\"", self.schema()))
            .replace(":clockname", &format!("\"{clock}\""))
            .replace(":clock.", &format!("\"{clock}\"."));
        self.pool().execute(sqlx::raw_sql(AssertSqlSafe(text))).await.expect("the clock is set up");
        let path: String =
            sqlx::query_scalar("show search_path").fetch_one(self.pool()).await.expect("the search path is known");
        let options = self.pool().connect_options().as_ref().clone();
        let options = options.options([("search_path", format!("\"{clock}\",pg_catalog,{path}"))]);
        self.stands_on(pool(options).await);
        self
    }

    /// What this sandbox's clock shows.
    ///
    /// # Panics
    /// When it has none: [`with_clock`](Self::with_clock) gives it one.
    pub async fn now(&self) -> DateTime<Utc> {
        let text = format!("select at from \"{}\".standing", schema(self.schema()));
        match sqlx::query(AssertSqlSafe(text)).fetch_one(self.pool()).await {
            Ok(row) => row.get(0),
            Err(error) => {
                panic!("this sandbox has no clock ({error}): make it by `Sandbox::new().await.with_clock().await`")
            }
        }
    }

    /// Moves the clock on: what becomes due within `time` is due now, and runs at the next `outbox.run_due()`.
    ///
    /// Everything falls due at once, as behind a night in which no worker ran: a schedule catches up as it says. For each tick by itself, move
    /// it on tick by tick, and run what is due in between. Move it while nothing runs: a running worker may lose its lease, as behind a pause of its
    /// process.
    ///
    /// # Panics
    /// As [`now`](Self::now).
    pub async fn advance(&self, time: Duration) {
        let to = self.now().await + time;
        self.set_clock(to).await;
    }

    /// Sets the clock to this moment: at first to any, for a test that is about a certain day; later only onwards.
    ///
    /// # Panics
    /// As [`now`](Self::now), and when it would go back although something has been published, enqueued or declared by then.
    pub async fn set_clock(&self, to: DateTime<Utc>) {
        let (schema, clock) = (self.schema(), schema(self.schema()));
        if to < self.now().await {
            let used = self.number("select (select count(*) from :schema.event) + (select count(*) from :schema.job) + (select count(*) from :schema.schedule)").await;
            assert_eq!(used, 0, "the clock of a sandbox goes back only before anything was published or declared");
        }
        let text = format!(
            "with moved as (
               update \"{clock}\".standing c set at = $1 from (select at from \"{clock}\".standing for update) b
               returning c.at - b.at as by
             )
             -- A worker that runs keeps its lease.
             update \"{schema}\".worker w set expires_at = w.expires_at + m.by from moved m where w.dead_at is null"
        );
        sqlx::query(AssertSqlSafe(text)).bind(to).execute(self.pool()).await.expect("the clock is moved");
    }
}

async fn pool(options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new().max_connections(12).connect_with(options).await.expect("the server answers")
}
