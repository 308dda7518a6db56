//! Roles with the least that each needs: every one does its whole job, and nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox::{
    BuildError, GrantError, MigrateError, OperationError, Outbox, PublishError, Registry, Roles, SubscriberDescriptor,
};
use outbox_testing::{Sandbox, eventually};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::types::Uuid;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};

use crate::enqueue::SendMail;
use crate::floor::{Asked, Do, Floor, Letter, Worker, ask, fail};
use crate::linkage::{linking, on, only_events};
use crate::logs::Logs;
use crate::sql::code;
use crate::support::{OrderPlaced, Script};

const ALL: [&str; 4] = ["publisher", "worker", "reader", "admin"];
const DENIED: &str = "42501";

/// Logins that are members of the roles of one prefix, and whatever else a test makes; all dropped with the handle.
struct Logins {
    prefix: String,
    admin: PgConnectOptions,
}

impl Logins {
    fn new(sandbox: &Sandbox) -> Self {
        let random = Uuid::new_v4().simple().to_string();
        Self { prefix: format!("r{}", &random[..12]), admin: (*sandbox.pool().connect_options()).clone() }
    }

    fn roles(&self, schema: &str) -> Roles {
        Roles::new().schema(schema).prefix(&*self.prefix)
    }

    async fn execute(&self, text: String) {
        let mut connection = PgConnection::connect_with(&self.admin).await.unwrap();
        connection.execute(sqlx::raw_sql(AssertSqlSafe(text))).await.unwrap();
        connection.close().await.unwrap();
    }

    /// The pool of a login role that is made for it, a member of `role` if there is one.
    async fn pool(&self, name: &str, role: Option<&str>) -> PgPool {
        let login = format!("{}_l_{name}", self.prefix);
        self.execute(format!("create role {login} login nosuperuser nocreatedb nocreaterole password 'x'")).await;
        if let Some(role) = role {
            self.execute(format!("grant {}_{role} to {login}", self.prefix)).await;
        }
        let options = self.admin.clone().username(&login).password("x");
        PgPoolOptions::new().max_connections(8).connect_with(options).await.unwrap()
    }
}

impl Drop for Logins {
    fn drop(&mut self) {
        let (admin, prefix) = (self.admin.clone(), self.prefix.clone());
        // A thread of its own, because a drop cannot await. What stays is no reason to fail a test.
        let _ = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect_with(&admin).await.ok()?;
                let text = "select rolname::text from pg_roles where starts_with(rolname, $1)";
                let names: Vec<String> = sqlx::query_scalar(text).bind(prefix).fetch_all(&mut connection).await.ok()?;
                for name in names {
                    let drop = format!("drop owned by {name} cascade; drop role {name}");
                    connection.execute(sqlx::raw_sql(AssertSqlSafe(drop))).await.ok()?;
                }
                connection.close().await.ok()
            })
        })
        .join();
    }
}

/// Tables with the roles granted. The logins are dropped before the tables.
struct Granted {
    logins: Logins,
    floor: Floor,
}

impl Granted {
    async fn new() -> Self {
        let floor = Floor::new().await;
        let logins = Logins::new(&floor.sandbox);
        logins.roles(floor.sandbox.schema()).grant(floor.sandbox.pool()).await.unwrap();
        Self { logins, floor }
    }

    async fn member(&self, role: &str) -> PgPool {
        self.logins.pool(role, Some(role)).await
    }

    fn outbox(&self, pool: &PgPool, registry: Registry) -> outbox::OutboxBuilder {
        Outbox::builder(pool.clone()).schema(self.floor.sandbox.schema()).registry(registry)
    }

    /// The SQLSTATE of a statement, run in a transaction that is rolled back; `None` when it is allowed.
    async fn answer(&self, pool: &PgPool, text: &str) -> Option<String> {
        let mut tx = pool.begin().await.unwrap();
        let result = tx.execute(sqlx::raw_sql(self.floor.fill(text))).await;
        tx.rollback().await.unwrap();
        result.err().map(|error| code(&error))
    }

    async fn assert_denied(&self, pool: &PgPool, texts: &[&str]) {
        for text in texts {
            assert_eq!(self.answer(pool, text).await.as_deref(), Some(DENIED), "{text}");
        }
    }

    async fn assert_allowed(&self, pool: &PgPool, texts: &[&str]) {
        for text in texts {
            assert_eq!(self.answer(pool, text).await, None, "{text}");
        }
    }
}

/// What no role but the tables' owner may do.
const FOR_THE_OWNER: [&str; 15] = [
    "create table :schema.mine (id int)",
    "alter table :schema.job_live add column mine int",
    "drop table :schema.attempt",
    "truncate :schema.job_live",
    "truncate :schema.event",
    "delete from :schema.event",
    "update :schema.event set payload = '{}'",
    "delete from :schema.job_failed",
    "delete from :schema.job_succeeded",
    "delete from :schema.attempt",
    "select :schema.erase_event(gen_random_uuid(), 'why')",
    "select :schema.ensure_partition('event', 'x', 'id', '', '')",
    "update :schema.retention set due_at = now()",
    "select :schema.retention_begins('failed', '1 day', '0 days')",
    "select :schema.retention_references(null, null, 1)",
];

/// A member of the publisher's role opens an outbox, publishes one and many, with and without keys, also above READ COMMITTED,
/// enqueues, and wakes the workers; a duplicate answers the first id.
#[tokio::test]
async fn a_publisher_publishes() {
    let it = Granted::new().await;
    let owner = it.outbox(it.floor.sandbox.pool(), linking([on("audit.watch", "order.*")])).build().await.unwrap();
    let outbox = it.outbox(&it.member("publisher").await, only_events()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let order = OrderPlaced::of("o1");
    let first = outbox.publish(&mut tx, &order).key("k1").actor("ann").await.unwrap();
    let second = outbox.publish(&mut tx, &order).key("k1").await.unwrap();
    assert_eq!((first.duplicate, second.duplicate, second.event_id), (false, true, first.event_id));
    assert_eq!(first.jobs, 1, "the catalogue's subscriber has its job");
    let many = outbox.publish_all(&mut tx, &[OrderPlaced::of("o2"), OrderPlaced::of("o3")]).keys(["k1", "k2"]).await;
    assert_eq!(many.unwrap().iter().map(|one| one.duplicate).collect::<Vec<_>>(), [true, false]);
    let mail = outbox.enqueue(&mut tx, &SendMail { to: "ann".into() }).key("m1").priority(0).await.unwrap();
    let again = outbox.enqueue(&mut tx, &SendMail { to: "ann".into() }).key("m1").await.unwrap();
    assert_eq!((mail.duplicate, again.duplicate, again.job_id), (false, true, mail.job_id));
    outbox.enqueue(&mut tx, &Letter { label: "l".into() }).delay(Duration::from_secs(1)).await.unwrap();
    tx.commit().await.unwrap();
    let mut connection = outbox.pool().acquire().await.unwrap();
    let mut tx = connection.begin_with("begin isolation level repeatable read").await.unwrap();
    outbox.publish(&mut tx, &order).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(it.floor.sandbox.jobs().await.len(), 5);
    assert_eq!(it.floor.sandbox.published::<OrderPlaced>().await.len(), 3);
    drop(owner);
}

/// A member of the publisher's role runs in-transaction subscribers, with no more than its own rights.
#[tokio::test]
async fn a_publisher_runs_in_transaction_subscribers() {
    let it = Granted::new().await;
    let keep = || SubscriberDescriptor { in_transaction: true, ..on("audit.keep", "order.placed") };
    let owner = it.outbox(it.floor.sandbox.pool(), linking([keep()])).build().await.unwrap();
    let script = Script::default();
    let outbox =
        it.outbox(&it.member("publisher").await, linking([keep()])).state(script.clone()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).key("k1").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(script.count("audit.keep"), 2);
    assert!(it.floor.sandbox.jobs().await.is_empty());
    drop(owner);
}

/// A publisher sees neither events nor jobs, alters none, and touches no worker, lease, catalogue or history. What it writes has
/// the state, time and transaction that the database gives it, and a key stays with the event that it was given to.
#[tokio::test]
async fn a_publisher_sees_and_alters_nothing() {
    let it = Granted::new().await;
    let owner = it.outbox(it.floor.sandbox.pool(), linking([on("audit.watch", "order.*")])).build().await.unwrap();
    let mut tx = owner.begin().await.unwrap();
    owner.publish(&mut tx, &OrderPlaced::of("o1")).key("k1").await.unwrap();
    tx.commit().await.unwrap();
    let pool = it.member("publisher").await;
    it.assert_denied(&pool, &FOR_THE_OWNER).await;
    let relations =
        ["event", "job", "job_live", "job_succeeded", "job_failed", "attempt", "worker", "inbox", "erasure"];
    for relation in relations {
        for text in ["select from :it", "select count(*) from :it", "update :it set id = null", "delete from :it"] {
            let text = text.replace(":it", &format!(":schema.{relation}"));
            assert!(matches!(it.answer(&pool, &text).await.as_deref(), Some(DENIED | "42703")), "{text}");
        }
    }
    let insert_event = "insert into :schema.event (id, event_type, event_version, subject_type, payload";
    let event = "gen_random_uuid(), 'a.b', 1, 'a', '{}'";
    let insert_job = "insert into :schema.job_live (id, event_id, job_type, max_attempts";
    let job = "gen_random_uuid(), gen_random_uuid(), 'a.b', 1";
    it.assert_allowed(&pool, &[&format!("{insert_event}) values ({event})"), &format!("{insert_job}) values ({job})")])
        .await;
    it.assert_denied(
        &pool,
        &[
            "select payload from :schema.event",
            &format!("{insert_event}) values ({event}) returning payload"),
            &format!("{insert_event}) values ({event}) on conflict (id) do update set payload = '{{}}'"),
            &format!("{insert_event}, occurred_at) values ({event}, now())"),
            &format!("{insert_event}, xid) values ({event}, '3')"),
            &format!("{insert_job}) values ({job}) returning status"),
            &format!("{insert_job}, status, claim_id) values ({job}, 'running', gen_random_uuid())"),
            &format!("{insert_job}, attempts) values ({job}, 7)"),
            "insert into :schema.job_failed (id) values (gen_random_uuid())",
            "insert into :schema.worker (id, name, ranges, expires_at) values (gen_random_uuid(), 'x', '{}', now())",
            "insert into :schema.attempt (job_id, claim_id, started_at, attempt, outcome)
             values (gen_random_uuid(), gen_random_uuid(), now(), 1, 'x')",
            "insert into :schema.inbox (handler, key) values ('a.b', gen_random_uuid())",
            "insert into :schema.subscription (handler, source, kind, max_attempts, priority) values ('a.b', '*', 'event', 1, 1)",
            "update :schema.subscription set retired_at = now()",
            "delete from :schema.subscription",
            "select setval(':schema.catalogue_fence', 1000000)",
            "delete from :schema.publish_key",
            "update :schema.publish_key set key = 'other'",
            "select created_at from :schema.publish_key",
            "select :schema.redrive(gen_random_uuid())",
            "select :schema.cancel(gen_random_uuid(), 'why')",
            "select :schema.ensure_partitions()",
            "select from :schema.schedule",
            "select :schema.run_schedule('night.scan')",
        ],
    )
    .await;
    let taken = it.answer(&pool, "update :schema.publish_key set event_id = gen_random_uuid()").await;
    assert_eq!(taken.as_deref(), Some("23001"), "a key is not taken away from its event");
}

/// A publisher that links subscribers, as one binary for every process does, opens without declaring them: its own events have
/// their jobs, and it says which of them the catalogue does not know yet.
#[tokio::test]
async fn a_publisher_declares_nothing_and_says_so() {
    let it = Granted::new().await;
    let registry = || linking([on("audit.watch", "order.*"), on("mail.send_it", "order.placed")]);
    let pool = it.member("publisher").await;
    let (logs, guard) = Logs::of_this_thread();
    let outbox = it.outbox(&pool, registry()).state(crate::support::Script::default()).build().await.unwrap();
    let said = logs.lines();
    assert!(said.len() == 1 && said[0].contains("audit.watch, mail.send_it"), "{said:?}");
    assert_eq!(it.floor.sandbox.number("select count(*) from :schema.subscription").await, 0);
    let mut tx = outbox.begin().await.unwrap();
    assert_eq!(outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap().jobs, 2);
    tx.commit().await.unwrap();
    let _worker =
        it.outbox(&it.member("worker").await, registry()).state(crate::support::Script::default()).build().await;
    it.outbox(&pool, registry()).state(crate::support::Script::default()).build().await.unwrap();
    assert_eq!(logs.lines().len(), 1, "once a worker has declared them, nothing is left to say");
    drop(guard);
}

/// A worker declares, claims, runs handlers of each kind, settles, retries, publishes follow-ups, takes over from the dead,
/// backfills and makes partitions, and meets no refusal.
#[tokio::test]
async fn a_worker_runs_the_whole_engine() {
    let it = Granted::new().await;
    let floor = &it.floor;
    floor.sandbox.execute(&format!("grant select, insert on :schema.done to {}_worker", it.logins.prefix)).await;
    let early = floor.sandbox.outbox().registry(only_events()).build().await.unwrap();
    let mut tx_before = early.begin().await.unwrap();
    let asked = Asked { label: "early".into(), plan: Vec::new() };
    let backfilled = early.publish(&mut tx_before, &asked).await.unwrap().event_id;
    let (logs, guard) = Logs::of_this_thread();
    let pool = it.member("worker").await;
    let handlers = ["desk.note", "desk.once", "till.book", "shelf.follow", "desk.letter", "night.scan"];
    let worker = Worker::start(floor.outbox_on(pool.clone(), &handlers).build().await.unwrap());
    let outbox = worker.outbox.clone();
    let retried = ask(&outbox, "retried", [fail("first")]).await;
    let published = ask(&outbox, "published", [Do::Publish("follow".into())]).await;
    let mut tx = outbox.begin().await.unwrap();
    outbox.enqueue(&mut tx, &Letter { label: "l1".into() }).await.unwrap();
    tx.commit().await.unwrap();
    // Its publisher did not know the subscribers, so its jobs are the backfill's to make, one a subscriber of that event.
    tx_before.commit().await.unwrap();
    let made = format!("select count(*) from :schema.job where event_id = '{}'", backfilled.as_uuid());
    floor.until_number(&made, 3).await;
    for event in [retried, backfilled, published] {
        floor.until("till.book", event, "succeeded").await;
    }
    floor.until("desk.once", retried, "failed").await;
    eventually("the follow-up and the letter are done", async || {
        let jobs = floor.sandbox.jobs().await;
        (jobs.of("shelf.follow").succeeded() == 1 && jobs.of("desk.letter").succeeded() == 1).then_some(())
    })
    .await;
    // A tick that is due is taken, and one is run by hand.
    floor.sandbox.execute("update :schema.schedule set next_tick = now() - interval '1 minute'").await;
    floor.until_number("select count(*) from :schema.schedule where next_tick > now()", 1).await;
    outbox.schedules().pause("night.scan").await.unwrap();
    outbox.schedules().resume("night.scan").await.unwrap();
    eventually("the schedule has run by hand too", async || {
        let _ = outbox.schedules().run_now("night.scan").await;
        (floor.sandbox.jobs().await.of("night.scan").succeeded() >= 2).then_some(())
    })
    .await;
    // A worker that died with a job in hand, and one whose row somebody deleted.
    let dead = Uuid::new_v4();
    let held = format!(
        "insert into :schema.worker (id, name, ranges, expires_at) values ('{dead}', 'dead', '{{}}', now() - interval '1 s');
         insert into :schema.job_live (id, event_id, job_type, attempts, max_attempts, status, claim_id, locked_by, locked_at)
         values (gen_random_uuid(), '{}', 'desk.copy', 1, 3, 'running', gen_random_uuid(), '{dead}', now())",
        backfilled.as_uuid()
    );
    floor.sandbox.execute(&held).await;
    floor.until("desk.copy", backfilled, "pending").await;
    worker.stop().await;
    let refused: Vec<_> = logs
        .lines()
        .into_iter()
        .filter(|line| line.contains("permission") || line.contains("did not answer"))
        .collect();
    assert_eq!(refused, [""; 0]);
    drop(guard);
}

/// A worker makes partitions for the days to come, and what lands in them is published and read by the roles through the parent.
#[tokio::test]
async fn new_partitions_need_no_grant() {
    let it = Granted::new().await;
    let (publisher, worker, reader) =
        (it.member("publisher").await, it.member("worker").await, it.member("reader").await);
    let text = it.floor.fill("select :schema.ensure_partitions('60 days')");
    let made: i32 = sqlx::query_scalar(text).fetch_one(&worker).await.unwrap();
    assert!(made > 40, "{made}");
    let insert = "insert into :schema.event (id, event_type, event_version, subject_type, payload)
                  values (:schema.ulid_floor(now() + interval '50 days'), 'a.b', 1, 'a', '{}')";
    publisher.execute(it.floor.fill(insert)).await.unwrap();
    let home = "select tableoid::regclass::text from :schema.event";
    let partition: String = sqlx::query_scalar(it.floor.fill(home)).fetch_one(it.floor.sandbox.pool()).await.unwrap();
    assert!(!partition.ends_with("event_default"), "{partition}");
    it.assert_allowed(&worker, &["select payload from :schema.event"]).await;
    it.assert_allowed(&reader, &["select id from :schema.event"]).await;
    for pool in [&publisher, &worker, &reader] {
        it.assert_denied(
            pool,
            &[&format!("select from {partition}"), &format!("insert into {partition} (id) values (null)")],
        )
        .await;
    }
}

/// A worker alters no table, removes no history, and does no operator's work.
#[tokio::test]
async fn a_worker_neither_alters_tables_nor_removes_history() {
    let it = Granted::new().await;
    let pool = it.member("worker").await;
    it.assert_denied(&pool, &FOR_THE_OWNER).await;
    it.assert_denied(
        &pool,
        &[
            "update :schema.job_succeeded set attempts = 0",
            "update :schema.job_failed set attempts = 0",
            "update :schema.attempt set error = ''",
            "update :schema.inbox set handler = ''",
            "delete from :schema.inbox",
            "delete from :schema.publish_key",
            "delete from :schema.migration",
            "insert into :schema.migration (version, name) values (99, 'x')",
            "update :schema.subscription set retired_at = now()",
            "update :schema.subscription set handler = 'a.b'",
            "select payload from :schema.job_failed",
            "select metadata from :schema.job_succeeded",
            "select from :schema.erasure",
            "select :schema.redrive(gen_random_uuid())",
            "select :schema.cancel(gen_random_uuid(), 'why')",
        ],
    )
    .await;
}

/// A worker removes what has ended and is old enough, by itself, and can ask for no less than the least ages; nobody else removes
/// anything.
#[tokio::test]
async fn a_worker_prunes_what_is_old_enough() {
    let it = Granted::new().await;
    let old = "insert into :schema.job_failed (id, event_id, job_type, max_attempts, attempts, status, completed_at)
               values (gen_random_uuid(), gen_random_uuid(), 'a.b', 1, 1, 'failed', now() - interval '2 years');
               insert into :schema.inbox (handler, key, created_at) values ('a.b', gen_random_uuid(), now() - interval '2 years')";
    it.floor.sandbox.execute(old).await;
    let pool = it.member("worker").await;
    let (logs, guard) = Logs::of_this_thread();
    let worker = Worker::start(it.floor.outbox_on(pool.clone(), &["desk.once"]).build().await.unwrap());
    it.floor
        .until_number("select (select count(*) from :schema.job_failed) + (select count(*) from :schema.inbox)", 0)
        .await;
    worker.stop().await;
    assert_eq!(logs.lines(), [""; 0]);
    drop(guard);
    let chores = ["succeeded", "events", "failed", "attempts", "inbox", "publish_keys"];
    for chore in chores {
        let too_soon = it.answer(&pool, &format!("select :schema.prune_{chore}('1 hour')")).await;
        assert_eq!(too_soon.as_deref(), Some("22023"), "{chore}");
    }
    for role in ["publisher", "reader", "admin"] {
        let pool = it.member(role).await;
        for chore in chores {
            it.assert_denied(&pool, &[&format!("select :schema.prune_{chore}('9 years')")]).await;
        }
    }
}

/// Before PostgreSQL 17 only the owner may vacuum: a worker of another role says once that it leaves that to autovacuum. From then on it
/// may by its grant, and does.
#[tokio::test]
async fn a_worker_vacuums_where_it_may() {
    let it = Granted::new().await;
    let sandbox = &it.floor.sandbox;
    sandbox.execute("alter table :schema.job_live set (autovacuum_enabled = off)").await;
    let fill = "insert into :schema.job_live (id, event_id, job_type, max_attempts)
                select gen_random_uuid(), gen_random_uuid(), 'a.b', 1 from generate_series(1, 60000)";
    sandbox.execute(fill).await;
    sandbox.execute("delete from :schema.job_live").await;
    let table = sandbox.table("job_live");
    let dead = format!("select (pg_stat_get_dead_tuples('{table}'::regclass) >= 60000)::int::bigint");
    it.floor.until_number(&dead, 1).await;
    let (logs, guard) = Logs::of_everything();
    let worker = Worker::start(it.floor.outbox_on(it.member("worker").await, &["desk.once"]).build().await.unwrap());
    ask(&worker.outbox, "a", []).await;
    let version = "select current_setting('server_version_num')::bigint";
    let said = || logs.lines().into_iter().filter(|line| line.contains("left to autovacuum")).count();
    if sandbox.number(version).await >= 170_000 {
        let vacuums = format!("select pg_stat_get_vacuum_count('{table}'::regclass)");
        it.floor.until_number(&vacuums, 1).await;
    } else {
        eventually("it says so", async || (said() == 1).then_some(())).await;
        assert!(!logs.lines().iter().any(|line| line.contains("permission denied")), "and the server does not");
    }
    worker.stop().await;
    drop(guard);
}

/// A reader sees states, counts, attempts and errors, by hand and in code, and neither payloads nor what else an application wrote
/// into a message; it writes nothing.
#[tokio::test]
async fn a_reader_sees_everything_but_payloads() {
    let it = Granted::new().await;
    let owner = it.floor.outbox(&["desk.once"]).build().await.unwrap();
    let event = ask(&owner, "a", [fail("boom")]).await;
    owner.drain().await.unwrap();
    let job = it.floor.job("desk.once", event).await;
    let pool = it.member("reader").await;
    let outbox = it.outbox(&pool, only_events()).build().await.unwrap();
    let failed = outbox.failed(10).await.unwrap();
    assert_eq!((failed.len(), failed[0].last_error.as_deref(), &*failed[0].message), (1, Some("boom"), "work.asked"));
    assert_eq!(outbox.unclaimed().await.unwrap(), []);
    it.assert_allowed(
        &pool,
        &[
            "select :schema.ulid(id), job_type, status, attempts, last_error from :schema.job where event_id = gen_random_uuid()",
            "select status, count(*) from :schema.job group by 1",
            "select job_type, count(*), min(available_at) from :schema.job_live where status = 'pending' and available_at <= now() group by 1",
            "select reason, crashes from :schema.job_failed union all select reason, crashes from :schema.job_succeeded",
            "select * from :schema.worker",
            "select * from :schema.attempt where job_id = :schema.from_ulid('01M8Z3NDEKTSV4RRFFQ69G5FAV') order by started_at",
            "select id, event_type, occurred_at from :schema.event",
            "select * from :schema.subscription",
            "select * from :schema.schedule",
        ],
    )
    .await;
    it.assert_denied(&pool, &FOR_THE_OWNER).await;
    for relation in ["job", "job_live", "job_succeeded", "job_failed"] {
        for column in ["payload", "metadata", "ordering_key", "*"] {
            it.assert_denied(&pool, &[&format!("select {column} from :schema.{relation}")]).await;
        }
    }
    it.assert_denied(
        &pool,
        &[
            "select payload from :schema.event",
            "select metadata from :schema.event",
            "select subject_id from :schema.event",
            "select id from :schema.event where payload = '{}'",
            "select from :schema.publish_key",
            "select from :schema.inbox",
            "select :schema.run_schedule('night.scan')",
            "update :schema.schedule set paused_at = now()",
            "select from :schema.erasure",
            "update :schema.job_live set attempts = 0",
            "delete from :schema.job_live",
            "insert into :schema.job_live (id) values (null)",
            "insert into :schema.event (id) values (null)",
            "update :schema.worker set dead_at = now()",
            "update :schema.subscription set retired_at = now()",
        ],
    )
    .await;
    for refused in [outbox.redrive(job.id).await, outbox.cancel(job.id, "why").await, outbox.retire("desk.once").await]
    {
        assert!(matches!(&refused, Err(OperationError::Database(error)) if code(error) == DENIED), "{refused:?}");
    }
    let mut tx = outbox.begin().await.unwrap();
    let refused = outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap_err();
    assert!(matches!(&refused, PublishError::Database { source, .. } if code(source) == DENIED), "{refused}");
    assert!(format!("{refused:?}").contains("permission denied"), "{refused:?}");
}

/// An administrator reads payloads, redrives, cancels, retires and activates, and writes nothing in any other way.
#[tokio::test]
async fn an_admin_redrives_cancels_retires_and_reads_payloads() {
    let it = Granted::new().await;
    let owner = it.floor.outbox(&["desk.once", "desk.note", "night.scan"]).build().await.unwrap();
    let event = ask(&owner, "a", [fail("boom"), fail("boom"), fail("boom")]).await;
    owner.drain().await.unwrap();
    let pool = it.member("admin").await;
    let outbox = it.outbox(&pool, only_events()).build().await.unwrap();
    let failed = it.floor.job("desk.once", event).await;
    outbox.redrive(failed.id).await.unwrap();
    outbox.cancel(failed.id, "ann: a mistake").await.unwrap();
    let cancelled = it.floor.job("desk.once", event).await;
    assert_eq!(
        (cancelled.reason.as_deref(), cancelled.last_error.as_deref()),
        (Some("cancelled"), Some("ann: a mistake"))
    );
    outbox.redrive_by_force(failed.id).await.unwrap();
    assert_eq!(it.floor.job("desk.once", event).await.status, "pending");
    outbox.retire("desk.note").await.unwrap();
    outbox.activate("desk.note").await.unwrap();
    outbox.schedules().pause("night.scan").await.unwrap();
    outbox.schedules().resume("night.scan").await.unwrap();
    outbox.schedules().run_now("night.scan").await.unwrap();
    assert!(outbox.schedules().all().await.unwrap()[0].next_tick.is_some());
    it.assert_allowed(
        &pool,
        &[
            "select payload, metadata, subject_id from :schema.event",
            "select * from :schema.job",
            "select * from :schema.job_live",
            "select * from :schema.job_failed",
            "select * from :schema.job_succeeded",
            "select * from :schema.attempt, :schema.worker, :schema.subscription, :schema.inbox, :schema.publish_key, :schema.erasure",
        ],
    )
    .await;
    it.assert_denied(&pool, &FOR_THE_OWNER).await;
    it.assert_denied(
        &pool,
        &[
            "delete from :schema.job_live",
            "update :schema.job_live set attempts = 0",
            "insert into :schema.job_failed (id) values (null)",
            "insert into :schema.event (id) values (null)",
            "delete from :schema.subscription",
            "update :schema.subscription set max_attempts = 1",
            "update :schema.schedule set cadence = 'every 1s'",
            "update :schema.worker set dead_at = now()",
            "delete from :schema.inbox",
            "select setval(':schema.catalogue_fence', 1)",
            "select :schema.ensure_partitions()",
        ],
    )
    .await;
}

/// Each statement of the engine, against each role: a worker may run all of them, a publisher those that publish, a reader and an
/// administrator those that look.
#[tokio::test]
async fn each_statement_is_allowed_to_those_who_need_it() {
    let it = Granted::new().await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/outbox-postgres/src/step");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "sql")).collect();
    for role in ALL {
        let mut allowed = BTreeSet::new();
        let mut connection = it.member(role).await.acquire().await.unwrap();
        for file in &files {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(file).unwrap();
            let prepare = it.floor.fill(&format!("prepare it as {text}"));
            let arguments =
                "select coalesce(array_length(parameter_types, 1), 0) from pg_prepared_statements where name = 'it'";
            connection.execute(prepare).await.unwrap_or_else(|error| panic!("{role} prepares {name}: {error}"));
            let count: i32 = sqlx::query_scalar(arguments).persistent(false).fetch_one(&mut *connection).await.unwrap();
            let nulls = vec!["null"; usize::try_from(count).unwrap()].join(", ");
            let explain =
                if count == 0 { "explain execute it".to_owned() } else { format!("explain execute it ({nulls})") };
            // EXPLAIN checks the rights as execution does, and does nothing.
            match connection.execute(sqlx::raw_sql(AssertSqlSafe(explain))).await {
                Ok(_) => drop(allowed.insert(name)),
                Err(error) => assert_eq!(code(&error), DENIED, "{role} and {name}: {error}"),
            }
            connection.execute("deallocate it").await.unwrap();
        }
        // Its one right, to set the sequence, is asked for when it runs: the tests above see it refused.
        assert!(allowed.remove("survey_connections"), "every role may know how many connections it may have");
        assert!(allowed.remove("vacuum_look"), "and read the statistics");
        for setting in ["bound", "lift"] {
            assert!(allowed.remove(setting), "and make settings of its own transaction");
        }
        let allowed: Vec<_> =
            allowed.iter().map(String::as_str).filter(|name| role == "worker" || *name != "backfill_fence").collect();
        match role {
            "worker" => assert_eq!(allowed.len() + 4, files.len(), "{allowed:?}"),
            "publisher" => assert_eq!(allowed, ["enqueue", "publish", "publish_keyed"]),
            "reader" => {
                assert_eq!(
                    allowed,
                    [
                        "failed",
                        "look",
                        "recover",
                        "rescue_held",
                        "schedule_due",
                        "schedule_status",
                        "survey_handlers",
                        "survey_jobs"
                    ]
                );
            }
            // Those that begin a backfill anew, as an activation does.
            _ => assert_eq!(
                allowed,
                [
                    "backfill_barrier",
                    "backfill_lock",
                    "failed",
                    "look",
                    "recover",
                    "rescue_held",
                    "restored",
                    "schedule_due",
                    "schedule_lock",
                    "schedule_status",
                    "survey_handlers",
                    "survey_jobs"
                ]
            ),
        }
    }
}

/// The script decides on every table: one that a migration adds is named in it, or this fails.
#[tokio::test]
async fn every_table_has_been_thought_of() {
    let sandbox = Sandbox::new().await;
    let text = "select c.relname::text from pg_class c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'S', 'v')
                and not c.relispartition union all select relname::text from pg_class where relnamespace = $1::regnamespace
                and relname in ('job_live', 'job_succeeded', 'job_failed')";
    let tables: Vec<String> = sqlx::query_scalar(text).bind(sandbox.schema()).fetch_all(sandbox.pool()).await.unwrap();
    let script = include_str!("../../migrations/roles/grant.sql");
    assert!(tables.len() >= 13, "{tables:?}");
    for table in tables {
        assert!(script.contains(&format!("'{table}'")) || script.contains(&format!("'sequence {table}'")), "{table}");
    }
}

/// Granting again takes back what was granted beyond the script, and many may do it at once, beside migrations.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn granting_again_and_at_once_is_harmless() {
    let it = Granted::new().await;
    let (schema, prefix) = (it.floor.sandbox.schema().to_owned(), it.logins.prefix.clone());
    let reader = it.member("reader").await;
    it.floor.sandbox.execute(&format!("grant select on :schema.event to {prefix}_reader")).await;
    it.assert_allowed(&reader, &["select payload from :schema.event"]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12 {
        let (pool, roles, schema) = (it.floor.sandbox.pool().clone(), it.logins.roles(&schema), schema.clone());
        tasks.spawn(async move {
            if n % 4 == 0 {
                outbox::migrate_schema(&pool, &schema).await.map_err(|error| error.to_string())
            } else {
                roles.grant(&pool).await.map_err(|error| format!("{error:?}"))
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        assert_eq!(done.unwrap(), Ok(()));
    }
    it.assert_denied(&reader, &["select payload from :schema.event"]).await;
    it.assert_allowed(&reader, &["select id from :schema.event"]).await;
}

/// Several databases of one server are granted at once, and make the same roles.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn databases_that_share_the_roles_are_granted_at_once() {
    let (one, two, three) = tokio::join!(Sandbox::new(), Sandbox::database(), Sandbox::database());
    let logins = Logins::new(&one);
    let grant = async |sandbox: &Sandbox| logins.roles(sandbox.schema()).grant(sandbox.pool()).await;
    let (first, second, third) = tokio::join!(grant(&one), grant(&two), grant(&three));
    for granted in [first, second, third] {
        granted.unwrap();
    }
    for sandbox in [&two, &three] {
        let roles: Vec<_> = ALL.iter().map(|role| format!("{}_{role}", logins.prefix)).collect();
        sandbox.execute(&format!("drop owned by {}", roles.join(", "))).await;
    }
}

/// Who may not create roles is told what an administrator has to run; once the roles are there, the tables' owner grants.
#[tokio::test]
async fn an_owner_who_may_not_create_roles_is_told_what_to_do() {
    let sandbox = Sandbox::empty().await;
    let logins = Logins::new(&sandbox);
    let owner = logins.pool("owner", None).await;
    let schema = sandbox.schema();
    logins.execute(format!("create schema {schema} authorization {}_l_owner", logins.prefix)).await;
    outbox::migrate_schema(&owner, schema).await.unwrap();
    let refused = logins.roles(schema).grant(&owner).await.unwrap_err();
    let said = format!("{refused:?}");
    assert!(
        said.contains(&format!(
            "the role {}_publisher does not exist, and {0}_l_owner may not create roles",
            logins.prefix
        )),
        "{said}"
    );
    let GrantError::Database(error) = refused else { panic!("{said}") };
    let hint =
        error.as_database_error().and_then(|error| error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>()?.hint());
    assert_eq!(
        hint,
        Some(&*format!(
            "have an administrator run: create role {}_publisher nologin; then run this again",
            logins.prefix
        ))
    );
    for role in ALL {
        logins.execute(format!("create role {}_{role} nologin", logins.prefix)).await;
    }
    logins.roles(schema).grant(&owner).await.unwrap();
    let publisher = logins.pool("publisher", Some("publisher")).await;
    Outbox::builder(publisher.clone()).schema(schema).registry(only_events()).build().await.unwrap();

    let refused = logins.roles(schema).grant(&publisher).await.unwrap_err();
    let said = format!("{refused:?}");
    assert!(
        said.contains(&format!("may not grant on the tables in {schema}, which belong to {}_l_owner", logins.prefix)),
        "{said}"
    );
}

/// Who may create nothing brings up to date what is up to date already: `migrate` at the start of every process is no reason to give
/// it more than its role has.
#[tokio::test]
async fn members_migrate_what_is_up_to_date() {
    let it = Granted::new().await;
    for role in ALL {
        outbox::migrate_schema(&it.member(role).await, it.floor.sandbox.schema()).await.unwrap();
    }
}

/// Where something is to be done, or the history is not to be read, it is said who has to do it, and nothing is changed.
#[tokio::test]
async fn who_may_not_migrate_is_told_who_may() {
    let it = Granted::new().await;
    let (worker, stranger) = (it.member("worker").await, it.logins.pool("stranger", None).await);
    let schema = it.floor.sandbox.schema();
    let missing = format!("{schema}_missing");
    // As before the newest.
    let back = "drop function :schema.run_schedule, :schema.schedule_is_busy; drop table :schema.schedule;
                delete from :schema.migration where version = 14";
    it.floor.sandbox.execute(back).await;
    for (pool, schema) in [(&worker, schema), (&worker, &missing), (&stranger, schema), (&stranger, &missing)] {
        let refused = outbox::migrate_schema(pool, schema).await.unwrap_err();
        assert!(matches!(refused, MigrateError::NotAllowed { .. }), "{refused:?}");
        let said = format!("{refused:?}");
        assert!(said.contains("run migrate as the owner of the schema"), "{said}");
        assert!(said.contains("permission denied") || said.contains("must be owner"), "{said}");
        assert!(!said.contains("at line"), "a line of PostgreSQL's own source: {said}");
    }
    let there = format!("select count(*) from pg_namespace where nspname = '{missing}'");
    assert_eq!(it.floor.sandbox.number(&there).await, 0);
    outbox::migrate_schema(it.floor.sandbox.pool(), schema).await.unwrap();
}

/// A schema without tables, or with older ones, is refused with what to do.
#[tokio::test]
async fn a_schema_without_tables_is_not_granted_on() {
    let sandbox = Sandbox::empty().await;
    let logins = Logins::new(&sandbox);
    let said = format!("{:?}", logins.roles(sandbox.schema()).grant(sandbox.pool()).await.unwrap_err());
    assert!(said.contains("the roles were not granted") && said.contains("has no outbox tables"), "{said}");
    outbox::migrate_schema(sandbox.pool(), sandbox.schema()).await.unwrap();
    sandbox.execute("delete from :schema.migration where version > 8").await;
    let said = format!("{:?}", logins.roles(sandbox.schema()).grant(sandbox.pool()).await.unwrap_err());
    assert!(said.contains("are at version 8, and the roles need version 14"), "{said}");
}

/// The script itself, as psql runs it, refuses a prefix that the server would cut short: the four roles would be one, and a publisher
/// might do what the admin may.
#[tokio::test]
async fn a_prefix_that_is_too_long_is_refused_by_the_script_too() {
    let sandbox = Sandbox::new().await;
    let prefix = format!("{}_{}", sandbox.schema(), "x".repeat(70 - sandbox.schema().len()));
    let script = include_str!("../../migrations/roles/grant.sql");
    let head =
        format!("set local search_path to {}, pg_temp; set local outbox.role_prefix = '{prefix}';", sandbox.schema());
    let mut transaction = sandbox.pool().begin().await.unwrap();
    let granted = sqlx::raw_sql(AssertSqlSafe(format!("{head}\n{script}"))).execute(&mut *transaction).await;
    transaction.rollback().await.unwrap();
    let said = granted.unwrap_err().to_string();
    assert!(said.contains("cannot begin the names of roles"), "{said}");
}

/// A login that is a member of nothing is told which roles there are.
#[tokio::test]
async fn a_stranger_is_told_which_roles_there_are() {
    let it = Granted::new().await;
    let stranger = it.logins.pool("stranger", None).await;
    let refused = it.outbox(&stranger, only_events()).build().await.unwrap_err();
    assert!(matches!(refused, BuildError::NotAllowed { .. }), "{refused}");
    assert_eq!(
        refused.to_string(),
        format!(
            "this connection's role may not use the outbox in the schema `{}`: make it a member of `outbox_publisher` or \
             `outbox_worker`, which `outbox::Roles` grants",
            it.floor.sandbox.schema()
        )
    );
}

/// The script is the same from a program, as text, and from psql, where there is one.
#[tokio::test]
async fn the_script_runs_as_text_and_from_psql() {
    let it = Granted::new().await;
    let reader = it.member("reader").await;
    let (schema, prefix) = (it.floor.sandbox.schema(), &it.logins.prefix);
    let revoke = format!("revoke all on schema {schema} from {prefix}_reader");
    it.logins.execute(revoke.clone()).await;
    it.assert_denied(&reader, &["select id from :schema.event"]).await;
    it.logins.execute(it.logins.roles(schema).sql().unwrap()).await;
    it.assert_allowed(&reader, &["select id from :schema.event"]).await;

    it.logins.execute(revoke).await;
    let psql = std::process::Command::new("psql")
        .args([
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-v",
            &format!("schema={schema}"),
            "-v",
            &format!("prefix={prefix}"),
            "-f",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/roles/psql.sql"))
        .arg(Sandbox::url().await)
        .output();
    match psql {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(String::from_utf8_lossy(&output.stdout), "", "it has nothing to show");
            it.assert_allowed(&reader, &["select id from :schema.event"]).await;
        }
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
    }
}
