//! What a new outbox does at the database before anybody holds it: check the tables, declare its handlers, say what nobody runs.

use std::time::Duration;

use crate::error::{BuildError, is_not_allowed};
use crate::lane::{self, Lane, LaneError};
use crate::migrate::{self, Standing};
use crate::outbox::Outbox;
use crate::service::Roster;
use crate::sqlstate::Class;
use crate::step;

const STATEMENT_LIMIT: Duration = Duration::from_secs(10);
/// How often a statement is repeated that lost against another process that starts at the same time.
const TRIES: usize = 10;

/// Opens `outbox`, on a connection of the engine's own: the application's may have any isolation and any limits.
pub(crate) async fn open(outbox: &Outbox) -> Result<(), BuildError> {
    let mut lane = outbox.lane("build");
    let (statements, schema) = (outbox.statements(), outbox.schema());
    check_version(outbox, &mut lane).await?;
    let may_declare = async |connection: &mut _| step::declare::may_declare(connection, schema).await;
    if lane.run(STATEMENT_LIMIT, may_declare).await? {
        let restored = async |connection: &mut _| step::restored::restored(connection, statements, schema).await;
        lane.run(STATEMENT_LIMIT, restored).await?;
        for handler in declare(outbox, &mut lane).await? {
            tracing::info!(handler, "subscriber activated: events published from now on have a job for it");
        }
        declare_schedules(outbox, &mut lane).await?;
        report_undeclared(outbox, &mut lane).await?;
    } else {
        report_unknown(outbox, &mut lane).await?;
    }
    check_connections(outbox, &mut lane).await?;
    report_small_pool(outbox);
    lane.close().await;
    Ok(())
}

/// A role that only publishes leaves the catalogue alone. Its events still have a job for each subscriber that it links.
async fn report_unknown(outbox: &Outbox, lane: &mut Lane) -> Result<(), BuildError> {
    let own: Vec<_> = outbox.registry().subscribers().iter().map(|one| one.name).collect();
    let unknown = async |connection: &mut _| step::declare::unknown(connection, outbox.schema(), &own).await;
    let unknown = lane.run(STATEMENT_LIMIT, unknown).await?;
    if !unknown.is_empty() {
        tracing::warn!(
            handlers = unknown.join(", "),
            "this connection's role may not declare subscribers, and the catalogue does not know these yet: events of other \
             publishers have no job for them until a worker that links them has started"
        );
    }
    Ok(())
}

/// Declares the handlers, again when another process that starts at the same time came first.
async fn declare(outbox: &Outbox, lane: &mut Lane) -> Result<Vec<String>, LaneError> {
    let (statements, registry) = (outbox.statements(), outbox.registry());
    let mut tries = 0;
    loop {
        let declare = async |connection: &mut _| step::declare::declare(connection, statements, registry).await;
        match lane.run(STATEMENT_LIMIT, declare).await {
            Err(error) if once_more(&error, &mut tries) => {}
            declared => return declared,
        }
    }
}

/// Whether a statement is repeated that lost against another process that starts at the same time.
fn once_more(error: &LaneError, tries: &mut usize) -> bool {
    *tries += 1;
    *tries < TRIES && matches!(error.class(), Class::Conflict | Class::Locked)
}

/// Declares the schedules whose ticks this process takes. One that does not run a module leaves its schedules to those that do.
async fn declare_schedules(outbox: &Outbox, lane: &mut Lane) -> Result<(), LaneError> {
    let own: Vec<_> = outbox.inner().schedules().collect();
    if own.is_empty() {
        return Ok(());
    }
    let (statements, declared_by) = (outbox.statements(), &outbox.config().name);
    let (own, mut tries) = (&own, 0);
    let declared = loop {
        let declare =
            async |connection: &mut _| step::schedule_declare::declare(connection, statements, own, declared_by).await;
        match lane.run(STATEMENT_LIMIT, declare).await {
            Err(error) if once_more(&error, &mut tries) => {}
            declared => break declared?,
        }
    };
    for schedule in declared {
        tracing::info!(schedule, "schedule declared: its ticks are taken from now on");
    }
    Ok(())
}

async fn check_version(outbox: &Outbox, lane: &mut Lane) -> Result<(), BuildError> {
    let schema = outbox.schema();
    let named = || schema.as_str().to_owned();
    let standing = lane
        .run(STATEMENT_LIMIT, async |connection| migrate::standing(connection, schema, migrate::NEWEST).await)
        .await;
    let standing = standing.map_err(|error| match sqlx::Error::from(error) {
        source if is_not_allowed(&source) => BuildError::NotAllowed { schema: named(), source },
        source => BuildError::Database(source),
    })?;
    match standing {
        Standing::TooNew(found) => Err(BuildError::TooNew { schema: named(), found, known: migrate::NEWEST }),
        Standing::Fit => Ok(()),
        Standing::Behind => Err(BuildError::NotMigrated { schema: named() }),
    }
}

/// A stored name that nobody declares any more is most often a rename that forgot its alias: say so once, at the start.
async fn report_undeclared(outbox: &Outbox, lane: &mut Lane) -> Result<(), BuildError> {
    // A program that only publishes cannot tell, and starts before the workers more often than not.
    if outbox.inner().runs.is_empty() {
        return Ok(());
    }
    let statements = outbox.statements();
    let own: Vec<_> = outbox.registry().subscribers().iter().flat_map(|one| one.all_names()).collect();
    let undeclared = async |connection: &mut _| step::survey::undeclared(connection, statements, &own).await;
    let undeclared = lane.run(STATEMENT_LIMIT, undeclared).await?;
    if !undeclared.is_empty() {
        let handlers: Vec<_> = undeclared.iter().map(|(handler, source)| format!("{handler} <- {source}")).collect();
        let first = &undeclared[0].0;
        tracing::warn!(
            handlers = handlers.join(", "),
            "events fan out to subscribers that neither this binary nor a running worker declares; if one was renamed, say \
             `aliases(\"{first}\")` at its new name; if one is gone for good, `outbox.retire(\"{first}\").await?` ends that"
        );
    }
    let (names, versions) = Roster::of(outbox).pairs();
    let unclaimed = async |connection: &mut _| step::survey::unclaimed(connection, statements, &names, &versions).await;
    for jobs in lane.run(STATEMENT_LIMIT, unclaimed).await? {
        tracing::warn!(
            handler = jobs.job_type,
            version = jobs.version,
            waiting = jobs.waiting,
            taken = ?jobs.taken,
            "jobs wait for a handler, or a version of their payload, that nobody runs; they are kept, uncharged: {jobs}"
        );
    }
    Ok(())
}

/// A process whose pool alone can take every connection that it may have would leave none for the lease, and lose it under load:
/// better not to start.
async fn check_connections(outbox: &Outbox, lane: &mut Lane) -> Result<(), BuildError> {
    // Behind a pooler the server's connections are not this process's: the pooler has them, and makes clients wait.
    if outbox.config().transaction_pooler || outbox.config().direct.is_some() {
        return Ok(());
    }
    let statements = outbox.statements();
    let allowed = async |connection: &mut _| step::survey::connections(connection, statements).await;
    let Some(allowed) = lane.run(STATEMENT_LIMIT, allowed).await? else { return Ok(()) };
    let pool = outbox.pool().options().get_max_connections();
    let (inner, config) = (outbox.inner(), outbox.config());
    let engine = lane::held(!inner.runs.is_empty(), inner.schedules().next().is_some(), config.poll_only);
    if pool.saturating_add(engine) > allowed {
        return Err(BuildError::Connections { pool, engine, allowed });
    }
    Ok(())
}

/// Handlers that take the transaction wait for each other's connections when there are fewer than slots.
fn report_small_pool(outbox: &Outbox) {
    let connections = outbox.pool().options().get_max_connections();
    let wanted = Roster::of(outbox).most_transactions(outbox);
    if connections < wanted {
        tracing::warn!(
            connections,
            wanted,
            "the application's pool is smaller than the number of handlers that can take a transaction at once: they wait for each \
             other; give the pool more connections, or lower `.concurrency(..)`"
        );
    }
}
