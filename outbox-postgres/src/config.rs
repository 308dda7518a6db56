//! The settings of an outbox, each with a default that works.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use outbox_core::lease::Lease;
use outbox_core::transition::DEFAULT_CRASH_LIMIT;
use sqlx::postgres::PgConnectOptions;

use crate::lane::Sharing;
use crate::profile::Profile;
use crate::retention::Retention;
use crate::schema::Schema;

/// All settings, checked.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) schema: Schema,
    /// Shows in the `worker` table and in logs.
    pub(crate) name: String,
    /// The service that this process is a part of, and whose events it publishes.
    pub(crate) service: Option<String>,
    /// Modules whose handlers this process runs; `None`: all that are linked.
    pub(crate) modules: Option<Vec<String>>,
    /// Most executions at once in the process.
    pub(crate) concurrency: u32,
    pub(crate) module_concurrency: BTreeMap<String, u32>,
    /// Batches, prefetch, polling and NOTIFY, as the profile or the single settings have them.
    pub(crate) profile: Profile,
    pub(crate) lease: Lease,
    /// Neither NOTIFY nor LISTEN.
    pub(crate) poll_only: bool,
    /// What the engine connects to is a pooler that lends a session for one transaction.
    pub(crate) transaction_pooler: bool,
    /// Where the engine connects to, apart from the application's pool.
    pub(crate) direct: Option<Direct>,
    pub(crate) shutdown_budget: Duration,
    /// In bytes of JSON.
    pub(crate) payload_limit: usize,
    pub(crate) crash_limit: u32,
    pub(crate) retention: Retention,
}

/// A server to connect to. Its own `Debug` would print the password.
#[derive(Clone)]
pub(crate) struct Direct(pub(crate) PgConnectOptions);

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(options) = self;
        f.debug_struct("Direct")
            .field("host", &options.get_host())
            .field("port", &options.get_port())
            .field("database", &options.get_database())
            .finish_non_exhaustive()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            schema: Schema::default(),
            name: format!("{}:{}", host_name(), std::process::id()),
            service: None,
            modules: None,
            concurrency: 16,
            module_concurrency: BTreeMap::new(),
            profile: Profile::default(),
            lease: Lease::default(),
            poll_only: false,
            transaction_pooler: false,
            direct: None,
            shutdown_budget: Duration::from_secs(10),
            payload_limit: 1024 * 1024,
            crash_limit: DEFAULT_CRASH_LIMIT,
            retention: Retention::default(),
        }
    }
}

impl Config {
    pub(crate) fn sharing(&self) -> Sharing {
        if self.transaction_pooler { Sharing::Pooled } else { Sharing::Ours }
    }

    /// Whether it waits for NOTIFY. A session that a pooler lends for one transaction hears of nothing.
    pub(crate) fn listens(&self) -> bool {
        !self.poll_only && !self.transaction_pooler
    }
}

/// For people only: nothing is decided by it, because two containers can share a name.
fn host_name() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    kernel.or_else(|| std::env::var("HOSTNAME").ok()).map_or_else(|| "host".to_owned(), |name| name.trim().to_owned())
}
