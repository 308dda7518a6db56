//! Tables with a million jobs, and sessions with the settings of the engine's own.

use std::sync::atomic::{AtomicI64, Ordering};

use outbox_testing::{Sandbox, eventually};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row as _};

use super::plan::Plan;

/// Transactions from here on began behind all that was explained.
static BEHIND: AtomicI64 = AtomicI64::new(0);

pub const LIVE: &str = "00000000-0000-0000-0000-00000000000a";
pub const DEAD: &str = "00000000-0000-0000-0000-00000000000d";
pub const CLAIM: &str = "00000000-0000-0000-0000-00000000000c";

/// Jobs with ids in the order of their writing, as ULIDs are. `$n` of them, the first one numbered `$from`.
pub fn jobs(from: u32, count: u32, columns: &str, values: &str) -> String {
    format!(
        "insert into :schema.job_live (id, event_id, max_attempts, {columns})
         select id, id, 20, {values} from (
           select n, lpad(to_hex(n), 32, '0')::uuid as id from generate_series({from}, {from} + {count} - 1) n) g"
    )
}

/// A hundred due jobs each of `plan.alone`, `plan.same`, `plan.other` and `plan.known`; two workers.
pub async fn few(sandbox: &Sandbox) {
    for table in ["job_live", "event", "job_succeeded", "job_failed", "inbox"] {
        // Else the server gathers statistics when it likes.
        let off = format!(
            "do $$ declare t regclass; begin
               for t in select c.oid from pg_partition_tree('{}') p join pg_class c on c.oid = p.relid where c.relkind = 'r' loop
                 execute format('alter table %s set (autovacuum_enabled = off)', t);
               end loop; end $$",
            sandbox.table(table)
        );
        sandbox.execute(&off).await;
    }
    // Known to be empty, as it is where nobody has run for long: what reads all of it then costs as much as what reads one mark.
    sandbox.execute("analyze :schema.inbox").await;
    sandbox
        .execute(&format!(
            "insert into :schema.worker (id, name, ranges, expires_at, dead_at)
             values ('{LIVE}', 'live', '{{plan.a@1}}', now() + interval '1 day', null), ('{DEAD}', 'dead', '{{}}', now(), now())"
        ))
        .await;
    sandbox
        .execute(
            "insert into :schema.schedule (name, cadence, zone, catch_up, catch_up_most, overlap, max_attempts, priority, next_tick, declared_by)
             select name, 'every 1m', 'UTC', 'latest', 1, 'skip', 20, 1, '2026-01-01Z', 'test' from unnest('{plan.night,plan.same}'::text[]) name",
        )
        .await;
    for (place, name) in (0..).zip(["alone", "same", "other", "known"]) {
        let values = format!("'plan.{name}', 1, now() - interval '1 minute' + n * interval '1 ms'");
        sandbox.execute(&jobs(1 + place * 100, 100, "job_type, priority, available_at", &values)).await;
    }
    sandbox
        .execute(&jobs(
            401,
            500,
            "job_type, status, claim_id, locked_by, locked_at, attempts",
            &format!("'plan.a', 'running', '{CLAIM}', '{DEAD}', now(), 1"),
        ))
        .await;
}

/// A million jobs more: a backlog of five handlers; jobs of the future, at the priority of those that are due and at the one before it;
/// jobs of a version that nobody knows. Beside them events that a subscriber's activation did not see, finished jobs, and marks of effects.
pub async fn many(sandbox: &Sandbox) {
    let backlog = "'plan.' || chr(97 + n % 5), 1, 1, now() - interval '1 hour' + n * interval '1 ms'";
    let columns = "job_type, payload_version, priority, available_at";
    sandbox.execute(&jobs(1_000, 300_000, columns, backlog)).await;
    let later = "1, now() + interval '1 day' + n * interval '1 ms'";
    sandbox.execute(&jobs(301_000, 250_000, columns, &format!("'plan.same', 1, {later}"))).await;
    sandbox.execute(&jobs(551_000, 250_000, columns, &format!("'plan.other', 1, 0, {}", &later[3..]))).await;
    sandbox
        .execute(&jobs(
            801_000,
            200_000,
            columns,
            "'plan.known', 2, 1, now() - interval '1 hour' + n * interval '1 ms'",
        ))
        .await;
    sandbox
        .execute(
            "insert into :schema.subscription (handler, source, kind, max_attempts, priority, barrier_xid)
             values ('plan.new', 'plan.made', 'event', 20, 1, '1');
             insert into :schema.event (id, event_type, event_version, subject_type, payload)
             select (left(:schema.ulid_floor(now())::text, 24) || lpad(to_hex(n), 12, '0'))::uuid,
                    case n % 2 when 0 then 'plan.made' else 'plan.else' end, 1, 'plan', '{}' from generate_series(1, 50000) n;
             insert into :schema.job_succeeded (id, event_id, status, completed_at, max_attempts, job_type)
             select lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, 'succeeded', now(), 20, 'plan.a'
             from generate_series(2000001, 2050000) n;
             insert into :schema.job_failed (id, event_id, status, completed_at, max_attempts, job_type, reason)
             select lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, 'failed', now(), 20, 'plan.a', 'exhausted'
             from generate_series(3000001, 3100000) n;
             insert into :schema.inbox (handler, key)
             select 'plan.' || chr(97 + n % 5), lpad(to_hex(n), 32, '0')::uuid from generate_series(4000001, 4100000) n",
        )
        .await;
}

/// A session as the engine's own are, in which the engine's statements are prepared.
pub struct Lane {
    connection: PgConnection,
    schema: String,
}

impl Lane {
    /// That of claim and settle, or that of the other services.
    pub async fn open(sandbox: &Sandbox, by_index: bool) -> Self {
        let settings = outbox_postgres::session_of_a_lane(by_index);
        let mut connection = PgConnection::connect_with(sandbox.pool().connect_options().as_ref()).await.unwrap();
        connection.execute(sqlx::raw_sql(AssertSqlSafe(settings))).await.unwrap();
        Self { connection, schema: sandbox.schema().to_owned() }
    }

    fn fill(&self, text: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(text.replace(":schema.", &format!("\"{}\".", self.schema)))
    }

    pub async fn prepare(&mut self, name: &str, text: &str) {
        let prepare = self.fill(&format!("prepare {name} as {text}"));
        self.connection.execute(prepare).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Waits until the rows that the last statement left behind are dead for everybody, so that whoever comes next clears them from
    /// their pages, and until nobody else reads here. A page that is full of them has no room for a claim's new version, which then is
    /// written to another page and to every index. What keeps them is any transaction of the whole server that began before, and a
    /// snapshot of this database, such as an autovacuum's of the catalogue.
    async fn alone(&mut self) {
        let others = "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint, (
                        select count(*) from pg_stat_activity
                        where datname = current_database() and pid <> pg_backend_pid() and backend_xmin is not null)";
        eventually("what was explained is dead for everybody", async || {
            let row = sqlx::query(others).fetch_one(&mut self.connection).await.unwrap();
            (row.get::<i64, _>(0) >= BEHIND.load(Ordering::Relaxed) && row.get::<i64, _>(1) == 0).then_some(())
        })
        .await;
    }

    /// Runs a statement and takes back what it did.
    pub async fn explain(&mut self, statement: &str) -> Plan {
        self.alone().await;
        let explain = self.fill(&format!("explain (analyze, buffers, format json) {statement}"));
        let mut transaction = self.connection.begin().await.unwrap();
        // As a handler's transaction is named.
        let named = AssertSqlSafe(format!("set local outbox.claim = '{CLAIM}'"));
        transaction.execute(named).await.unwrap();
        let row = sqlx::query(explain).persistent(false).fetch_one(&mut *transaction).await;
        let row = row.unwrap_or_else(|error| panic!("{statement}: {error}"));
        transaction.rollback().await.unwrap();
        let behind = sqlx::query("select pg_snapshot_xmax(pg_current_snapshot())::text::bigint");
        let behind = behind.fetch_one(&mut self.connection).await.unwrap().get(0);
        BEHIND.fetch_max(behind, Ordering::Relaxed);
        Plan::of(&row.get_unchecked::<String, _>(0))
    }
}
