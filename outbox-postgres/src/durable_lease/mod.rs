//! Durable leases: work that one process does at a time, whichever it is.
//!
//! A lease is a row with a name, an owner and a token that grows with each owner. Its owner renews it apart from the work, on a thread of
//! its own; when that fails for too long, the work is dropped before anybody else can begin. What the work writes is fenced by the
//! token in its own transaction, so that an owner who was frozen and comes back writes nothing.

mod error;
mod held;
mod keeper;

use std::sync::Arc;
use std::time::Duration;

use outbox_core::lease::Lease;
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

pub use self::error::LeaseError;
pub use self::held::Held;
use self::keeper::Keeper;
use crate::lane::{Lane, Sharing};
use crate::outbox::Outbox;
use crate::schema::{InvalidSchema, Schema};
use crate::step::lease::LeaseStatements;

/// Longest name of a lease, in bytes.
const MAX_NAME: usize = 200;

/// Where leases are kept: a database, in which [`migrate`](crate::migrate()) made the tables. Nothing else of this crate has to be
/// used.
///
/// ```no_run
/// # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// use outbox_postgres::Leases;
///
/// let leases = Leases::new(&pool);
/// let rebuilt = leases
///     .lease("search.rebuild")
///     .run(async |held| {
///         let mut tx = pool.begin().await?;
///         held.fence(&mut tx).await?; // from here to the commit nobody else can become the owner
///         sqlx::query("update search_index set generation = generation + 1").execute(&mut *tx).await?;
///         tx.commit().await?;
///         Ok::<_, Box<dyn std::error::Error>>(())
///     })
///     .await?;
/// # rebuilt
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Leases {
    options: Arc<PgConnectOptions>,
    sharing: Sharing,
    statements: LeaseStatements,
    holder: Arc<str>,
}

impl Leases {
    /// Those in the schema `system` of this pool's database. Each lease in use has a connection of its own; the pool's are left to the
    /// application.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        Self {
            options: pool.connect_options(),
            sharing: Sharing::Ours,
            statements: LeaseStatements::new(&Schema::default()),
            holder: crate::identity::random().to_string().into(),
        }
    }

    /// The same, in another schema.
    ///
    /// # Errors
    /// When the name is no lower-case identifier.
    pub fn schema(self, name: &str) -> Result<Self, InvalidSchema> {
        Ok(Self { statements: LeaseStatements::new(&Schema::new(name)?), ..self })
    }

    /// The same, with a name of this process that others see when they ask who has a lease. It identifies nobody: two processes may have
    /// the same, and only tokens tell owners apart. Without one it is a random number.
    #[must_use]
    pub fn holder(self, name: impl Into<Arc<str>>) -> Self {
        Self { holder: name.into(), ..self }
    }

    /// The lease of this name. Nothing is asked of the database before it is run.
    pub fn lease(&self, name: impl Into<Arc<str>>) -> DurableLease {
        DurableLease { leases: self.clone(), name: name.into(), lease: Lease::default(), at_least: Duration::ZERO }
    }

    fn lane(&self) -> Lane {
        Lane::new(&self.options, self.sharing, "lease")
    }
}

impl Outbox {
    /// Durable leases in this outbox's tables, in the name of this worker.
    #[must_use]
    pub fn leases(&self) -> Leases {
        Leases {
            options: self.engine_options(),
            sharing: self.config().sharing(),
            statements: LeaseStatements::new(self.schema()),
            holder: self.config().name.as_str().into(),
        }
    }
}

/// One lease, not taken yet.
#[derive(Debug, Clone)]
#[must_use = "a lease does nothing before it is run"]
pub struct DurableLease {
    leases: Leases,
    name: Arc<str>,
    lease: Lease,
    at_least: Duration,
}

impl DurableLease {
    /// How long it stands without being renewed, which is how long others wait behind an owner that died. Ten seconds unless said
    /// otherwise.
    ///
    /// # Errors
    /// When it is shorter than two seconds or longer than ten minutes.
    pub fn length(self, length: Duration) -> Result<Self, LeaseError> {
        let lease = Lease::new(length).ok_or(LeaseError::Length(length))?;
        Ok(Self { lease, ..self })
    }

    /// How long it stands at least, counted from when it was taken, though the work ended earlier: processes that begin the same thing at
    /// about the same time do not do it one after another.
    pub fn at_least(self, time: Duration) -> Self {
        Self { at_least: time, ..self }
    }

    /// Waits for the lease, as long as it takes and through outages of the database, and does the work as its only owner.
    ///
    /// # Errors
    /// [`LeaseError::Lost`] when the lease was lost during the work, which was dropped at once; [`LeaseError::Name`]. What the work itself answers is
    /// the value.
    ///
    /// # Cancel safety
    /// Dropped in the middle, the work is dropped, then the lease is given back.
    pub async fn run<T>(self, work: impl AsyncFnOnce(Held) -> T) -> Result<T, LeaseError> {
        self.own(true, work).await
    }

    /// Does the work as the only owner, unless somebody else has the lease.
    ///
    /// # Errors
    /// [`LeaseError::Taken`] when somebody else has it, [`LeaseError::Unreachable`] when the database does not answer, [`LeaseError::Lost`] and
    /// [`LeaseError::Name`] as [`run`](Self::run) has them.
    ///
    /// # Cancel safety
    /// As [`run`](Self::run).
    pub async fn try_run<T>(self, work: impl AsyncFnOnce(Held) -> T) -> Result<T, LeaseError> {
        self.own(false, work).await
    }

    async fn own<T>(self, patient: bool, work: impl AsyncFnOnce(Held) -> T) -> Result<T, LeaseError> {
        if self.name.is_empty() || self.name.len() > MAX_NAME || self.name.contains('\0') {
            return Err(LeaseError::Name(self.name.chars().take(80).collect()));
        }
        let (keeper, token) = Keeper::start(&self, patient).await?;
        let held = Held::new(Arc::clone(&self.name), token, keeper.lost.clone(), self.leases.statements.clone());
        // Declared behind the keeper, so that it is dropped before: the lease never goes back while its work is there.
        let work = Box::pin(work(held));
        let done = tokio::select! {
            biased;
            done = work => Some(done),
            () = keeper.lost.cancelled() => None,
        };
        match done {
            Some(done) => {
                keeper.release().await;
                Ok(done)
            }
            None => Err(LeaseError::Lost(self.name)),
        }
    }
}
