//! One cell: a database, a contestant, and what is read around its work.

use std::process::Command;

use sqlx::postgres::types::Oid;
use sqlx::{Connection as _, Executor as _, PgConnection};

use super::child::Contestant;
use super::process;
use super::server::Stage;
use crate::measure::Readings;
use crate::protocol::{Done, Introduction};

/// Runs one contestant on a database of its own.
pub(super) async fn perform(stage: &mut Stage, command: Command) -> anyhow::Result<(Introduction, Done, Readings)> {
    let database = stage.make_database().await?;
    let mut contestant = Contestant::start(command, &stage.url_of(&database)?)?;
    let introduction = contestant.ready().await?;
    settle_down(stage, &database).await?;
    process::forget_peak(contestant.pid());
    let before = Reading::take(stage, &database, contestant.pid()).await?;
    contestant.go()?;
    let done = contestant.done().await?;
    let after = Reading::take(stage, &database, contestant.pid()).await?;
    let peak_mb = process::peak_mb(contestant.pid());
    // Sessions report what they left behind when they end.
    contestant.end().await?;
    let (dead_tuples, table_mb) = left_behind(&mut stage.connect(&database).await?).await?;
    stage.drop_database(&database).await?;
    let difference = |of: fn(&Reading) -> Option<u64>| Some(of(&after)?.saturating_sub(of(&before)?));
    let readings = Readings {
        wal_bytes: after.wal.saturating_sub(before.wal),
        cpu_seconds: after.cpu.zip(before.cpu).map(|(after, before)| after - before),
        peak_mb,
        statements: difference(|reading| reading.counted.map(|counted| counted.statements)),
        pages: difference(|reading| reading.counted.map(|counted| counted.pages)),
        dead_tuples,
        table_mb,
    };
    Ok((introduction, done, readings))
}

/// What preparing left to be done is done now, and not beside the work: dead rows, hint bits, statistics.
async fn settle_down(stage: &Stage, database: &str) -> anyhow::Result<()> {
    let mut connection = stage.connect(database).await?;
    connection.execute("vacuum (analyze)").await?;
    Ok(connection.close().await?)
}

/// Counters at one moment.
#[derive(Debug)]
struct Reading {
    wal: u64,
    cpu: Option<f64>,
    counted: Option<Counted>,
}

/// Of one database.
#[derive(Clone, Copy, Debug)]
struct Counted {
    statements: u64,
    pages: u64,
}

impl Reading {
    async fn take(stage: &mut Stage, database: &str, pid: u32) -> anyhow::Result<Self> {
        let counted = counted(stage, database).await?;
        let wal: i64 = sqlx::query_scalar("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")
            .fetch_one(&mut stage.admin)
            .await?;
        Ok(Self { wal: wal.unsigned_abs(), cpu: process::cpu_seconds(pid), counted })
    }
}

async fn counted(stage: &mut Stage, database: &str) -> anyhow::Result<Option<Counted>> {
    if !stage.counts {
        return Ok(None);
    }
    let oid: Oid = sqlx::query_scalar("select oid from pg_database where datname = $1")
        .bind(database)
        .fetch_one(&mut stage.admin)
        .await?;
    let (calls, pages): (i64, i64) = sqlx::query_as(
        "select coalesce(sum(calls), 0)::bigint, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint
         from pg_stat_statements where dbid = $1",
    )
    .bind(oid)
    .fetch_one(&mut stage.admin)
    .await?;
    Ok(Some(Counted { statements: calls.unsigned_abs(), pages: pages.unsigned_abs() }))
}

/// Dead rows, and the size of the tables with their indexes.
async fn left_behind(connection: &mut PgConnection) -> anyhow::Result<(u64, f64)> {
    let (dead, bytes): (i64, i64) = sqlx::query_as(
        "select coalesce(sum(n_dead_tup), 0)::bigint, coalesce(sum(pg_total_relation_size(relid)), 0)::bigint from pg_stat_user_tables",
    )
    .fetch_one(connection)
    .await?;
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    Ok((dead.unsigned_abs(), bytes as f64 / 1_048_576.0))
}
