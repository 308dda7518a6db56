//! The tables: where they live, what they hold, and what they refuse.

use outbox::prelude::*;
use outbox_testing::{Sandbox, eventually};
use sqlx::postgres::PgPoolOptions;
use sqlx::types::Uuid;

use crate::database::Database;
use crate::linkage::{linking, on};
use crate::sql::{holds, refusal, text, texts};
use crate::support::{Answer, OrderPlaced, Shop, publish};

const RESTRICT_VIOLATION: &str = "23001";
const CHECK_VIOLATION: &str = "23514";
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// S0-1: everything that a migration makes is in the one schema, whose default name is `system`.
#[tokio::test]
async fn a_migration_makes_nothing_outside_of_its_schema() {
    let database = Database::new().await;
    let pool = database.pool().await;
    outbox::migrate(&pool).await.unwrap();
    let elsewhere: Vec<String> = sqlx::query_scalar(
        "select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname not in ('system', 'pg_catalog', 'information_schema', 'pg_toast')
         union all
         select n.nspname || '.' || p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
         where n.nspname not in ('system', 'pg_catalog', 'information_schema')
         union all select extname from pg_extension where extname <> 'plpgsql'",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    let ours: i64 = sqlx::query_scalar("select count(*) from pg_tables where schemaname = 'system'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(ours > 8, "{ours}");
}

/// S0-1: publish, enqueue, claim, settle, redrive, retire and backfill find their tables with a `search_path` that leads to
/// tables of the same names and other columns.
#[tokio::test]
async fn no_statement_relies_on_the_search_path() {
    let shop = Shop::with_default(&[("search_path", "decoy")]).await;
    let names = "event event_default job job_live job_succeeded job_failed attempt subscription publish_key inbox worker migration erasure";
    shop.sandbox.execute("create schema decoy").await;
    for name in names.split(' ') {
        shop.sandbox.execute(&format!("create table decoy.{name} (decoy int)")).await;
    }
    let pool = PgPoolOptions::new().max_connections(4).connect_with(shop.sandbox.options()).await.unwrap();
    let path: String = sqlx::query_scalar("show search_path").fetch_one(&pool).await.unwrap();
    assert_eq!(path, "decoy");

    let registry = outbox::Registry::linked()
        .with_subscribers(|one| ["inventory.take", "notifications.confirm"].contains(&one.name));
    let outbox = shop
        .sandbox
        .outbox_on(pool)
        .registry(registry)
        .state(shop.script.clone())
        .state(crate::support::Effects(shop.sandbox.table("effect")))
        .build()
        .await
        .unwrap();
    shop.script.answers("notifications.confirm", [Answer::With(Failure::quarantine("not now"))]);
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).key("k").await.unwrap();
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    let failed = outbox.failed(10).await.unwrap();
    assert_eq!(failed.len(), 1);
    outbox.redrive(failed[0].id).await.unwrap();
    outbox.drain().await.unwrap();
    outbox.retire("inventory.take").await.unwrap();
    outbox.activate("inventory.take").await.unwrap();
    assert!(outbox.unclaimed().await.unwrap().is_empty());
    assert_eq!(shop.sandbox.jobs().await.succeeded(), 2);
    // The worker's own statements, the partitions and the backfill, beside what `drain` uses.
    let done = async {
        eventually("the new activation is backfilled", async || {
            holds(&shop.sandbox, "select bool_and(backfilled_at is not null) from :schema.subscription")
                .await
                .then_some(())
        })
        .await;
    };
    outbox.run(done).await.unwrap();
}

/// S0-1: two applications in one database, a schema each, see nothing of each other, not even the wake-up.
#[tokio::test]
async fn two_schemas_in_one_database_do_not_see_each_other() {
    let (one, other) = (Shop::new().await, Shop::new().await);
    let own = one.outbox(&["notifications.confirm"]).build().await.unwrap();
    let neighbour = other.outbox(&["notifications.confirm", "inventory.take"]).build().await.unwrap();
    let published = publish(&own, "o1").await;
    assert_eq!(published.jobs, 1, "the neighbour's catalogue adds nothing");
    assert_eq!(neighbour.drain().await.unwrap().executions, 0);
    assert!(other.sandbox.published::<OrderPlaced>().await.is_empty());
    assert!(other.sandbox.jobs().await.is_empty());
    assert_eq!(own.drain().await.unwrap().executions, 1);
    let mut tx = neighbour.begin().await.unwrap();
    let again = neighbour.publish(&mut tx, &OrderPlaced::of("o1")).key("o1").await.unwrap();
    tx.commit().await.unwrap();
    assert!(!again.duplicate);
}

/// S0-2: the event row holds id, type, subject, payload and time; the id reads as the ULID that publish answered, and the
/// payload is equal as a value, whatever becomes of its text.
#[tokio::test]
async fn an_event_row_holds_what_was_published() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&[]).build().await.unwrap();
    let before: String = text(&shop.sandbox, "select clock_timestamp()::text").await;
    let published = publish(&outbox, "o1").await;
    let id = text(&shop.sandbox, "select id::text from :schema.event").await;
    assert_eq!(id.parse::<outbox::EventId>().unwrap(), published.event_id);
    assert_eq!(text(&shop.sandbox, "select :schema.ulid(id) from :schema.event").await, published.event_id.to_string());
    let row = text(
        &shop.sandbox,
        "select concat_ws(' ', event_type, event_version, subject_type, subject_id) from :schema.event",
    )
    .await;
    assert_eq!(row, "order.placed 1 order o1");
    let same_value = "select payload = '{\"units\": 1.00, \"order_id\": \"o1\"}' and jsonb_typeof(payload) = 'object' from :schema.event";
    assert!(holds(&shop.sandbox, same_value).await);
    let in_time = format!("select occurred_at between '{before}' and clock_timestamp() from :schema.event");
    assert!(holds(&shop.sandbox, &in_time).await);
    assert!(holds(&shop.sandbox, "select xid::text::bigint > 0 from :schema.event").await);
}

/// S0-3: UPDATE, DELETE and TRUNCATE of an event are refused on the table, on the partition that holds it, on every other
/// partition and on the default one.
#[tokio::test]
async fn an_event_is_never_updated_deleted_or_truncated() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&[]).build().await.unwrap();
    publish(&outbox, "o1").await;
    let foreign = "insert into :schema.event (id, event_type, event_version, subject_type, payload)
                   values ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'order.placed', 1, 'order', '{}')";
    shop.sandbox.execute(foreign).await;
    let holders = texts(&shop.sandbox, "select distinct tableoid::regclass::text from :schema.event").await;
    assert_eq!(holders.len(), 2, "{holders:?}");
    assert!(holders.iter().any(|name| name.ends_with(".event_default")), "{holders:?}");
    let parent = shop.sandbox.table("event");
    for table in holders.iter().chain([&parent]) {
        for statement in [format!("update {table} set payload = '{{}}'"), format!("delete from {table}")] {
            assert_eq!(refusal(&shop.sandbox, &statement).await, RESTRICT_VIOLATION, "{statement}");
        }
    }
    let partitions = texts(
        &shop.sandbox,
        &format!("select inhrelid::regclass::text from pg_inherits where inhparent = '{parent}'::regclass"),
    )
    .await;
    assert!(partitions.len() > 3, "{partitions:?}");
    for table in partitions.iter().chain([&parent]) {
        assert_eq!(refusal(&shop.sandbox, &format!("truncate {table}")).await, RESTRICT_VIOLATION, "{table}");
    }
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 2);
}

/// S0-3: a setting that anybody can make does not open the log: only its owner's functions pass.
#[tokio::test]
async fn the_log_opens_to_nobody_but_its_owner() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&[]).build().await.unwrap();
    publish(&outbox, "o1").await;
    let role = format!("r{}", Uuid::new_v4().simple());
    shop.sandbox
        .execute(&format!(
            "create role {role}; grant usage on schema \"{schema}\" to {role};
             grant select, insert, update, delete on all tables in schema \"{schema}\" to {role}",
            schema = shop.sandbox.schema()
        ))
        .await;
    let as_role = |statement: &str| format!("set local role {role}; set local outbox.owner_work = 'on'; {statement}");
    let update = refusal(&shop.sandbox, &as_role("update :schema.event set payload = '{}'")).await;
    let delete = refusal(&shop.sandbox, &as_role("delete from :schema.event")).await;
    let erase = refusal(&shop.sandbox, &as_role("select :schema.erase_event(id, 'x') from :schema.event")).await;
    let redrive = refusal(&shop.sandbox, &as_role("select :schema.redrive(gen_random_uuid())")).await;
    shop.sandbox.execute(&format!("drop owned by {role}; drop role {role}")).await;
    assert_eq!([update, delete], [RESTRICT_VIOLATION; 2]);
    assert_eq!([erase, redrive], [INSUFFICIENT_PRIVILEGE; 2]);
}

/// S0-3, S0-12: running, failing, redriving and succeeding leave the event's row as it was, down to its place in the table.
#[tokio::test]
async fn delivery_and_redrive_leave_the_event_row_as_it_is() {
    const ROW: &str =
        "select e::text || ' ' || e.xmin::text || ' ' || e.xmax::text || ' ' || e.ctid::text from :schema.event e";
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["inventory.take", "notifications.confirm"]).build().await.unwrap();
    shop.script.answers("inventory.take", [Answer::With(Failure::quarantine("broken"))]);
    publish(&outbox, "o1").await;
    let before = text(&shop.sandbox, ROW).await;
    outbox.drain().await.unwrap();
    let failed = outbox.failed(10).await.unwrap();
    outbox.redrive(failed[0].id).await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.succeeded(), 2);
    assert_eq!(text(&shop.sandbox, ROW).await, before);
}

/// S0-3: the owner removes personal data by `erase_event`, which leaves the event, its type and a record of who did it and
/// why; nothing else is opened by it.
#[tokio::test]
async fn erasing_an_event_leaves_a_record() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&[]).build().await.unwrap();
    let published = publish(&outbox, "o1").await;
    let untouched = publish(&outbox, "o2").await;
    let erase = |id: outbox::EventId| format!("select :schema.erase_event('{}', 'request 17')", id.as_uuid());
    assert!(holds(&shop.sandbox, &erase(published.event_id)).await);
    let erased = format!(
        "select payload = '{{}}' and metadata = '{{}}' and subject_id is null and event_type = 'order.placed'
         from :schema.event where id = '{}'",
        published.event_id.as_uuid()
    );
    assert!(holds(&shop.sandbox, &erased).await);
    let record = "select :schema.ulid(event_id) || ' ' || reason from :schema.erasure
                  where erased_by = session_user and erased_at <= clock_timestamp()";
    assert_eq!(texts(&shop.sandbox, record).await, [format!("{} request 17", published.event_id)]);
    let other =
        format!("select payload ->> 'order_id' from :schema.event where id = '{}'", untouched.event_id.as_uuid());
    assert_eq!(text(&shop.sandbox, &other).await, "o2");
    assert_eq!(refusal(&shop.sandbox, "update :schema.event set payload = '{}'").await, RESTRICT_VIOLATION);
    assert!(!holds(&shop.sandbox, "select :schema.erase_event(gen_random_uuid(), 'nobody')").await);
    assert_eq!(shop.sandbox.number("select count(*) from :schema.erasure").await, 1);
    let blank = format!("select :schema.erase_event('{}', '')", untouched.event_id.as_uuid());
    assert_eq!(refusal(&shop.sandbox, &blank).await, CHECK_VIOLATION, "a reason is said");
}

/// S0-4: a job row has every column that it is asked to have, of a fitting type; `locked_by` is a worker's id and no host name.
#[tokio::test]
async fn a_job_row_has_its_columns() {
    let sandbox = Sandbox::new().await;
    let columns = texts(
        &sandbox,
        &format!(
            "select column_name || ' ' || data_type || case is_nullable when 'YES' then '' else ' not null' end
             from information_schema.columns where table_schema = '{}' and table_name = 'job'",
            sandbox.schema()
        ),
    )
    .await;
    for wanted in [
        "id uuid not null",
        "job_type text not null",
        "event_id uuid",
        "payload jsonb",
        "status text not null",
        "attempts integer not null",
        "max_attempts integer not null",
        "available_at timestamp with time zone not null",
        "locked_at timestamp with time zone",
        "locked_by uuid",
        "last_error text",
        "created_at timestamp with time zone not null",
        "completed_at timestamp with time zone",
    ] {
        assert!(columns.iter().any(|column| column == wanted), "{wanted} is missing among {columns:#?}");
    }
}

/// S0-4: an error of a megabyte is cut before it is stored, and the table itself refuses one that is not.
#[tokio::test]
async fn a_stored_error_is_bounded() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    shop.script.answers("notifications.confirm", [Answer::With(Failure::quarantine("x".repeat(1024 * 1024)))]);
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let job = shop.sandbox.jobs().await.only().clone();
    let error = job.last_error.unwrap();
    assert!(error.starts_with("xxx") && error.len() <= 8 * 1024, "{}", error.len());
    let attempt = "select bool_and(octet_length(error) between 1 and 8192) from :schema.attempt";
    assert!(holds(&shop.sandbox, attempt).await);
    publish(&outbox, "o2").await;
    let too_long = "update :schema.job_live set last_error = repeat('x', 16385)";
    assert_eq!(refusal(&shop.sandbox, too_long).await, CHECK_VIOLATION);
}

/// S0-5: a job can be stored with the four words and with no other, in whatever way it is written.
#[tokio::test]
async fn a_status_is_one_of_four_words() {
    let shop = Shop::new().await;
    let insert = |status: &str| {
        format!(
            "insert into :schema.job (id, event_id, job_type, max_attempts, status, claim_id, completed_at)
             values (gen_random_uuid(), gen_random_uuid(), 'a.b', 1, '{status}',
                     case when '{status}' = 'running' then gen_random_uuid() end,
                     case when '{status}' in ('succeeded', 'failed') then now() end)"
        )
    };
    for status in ["pending", "running", "succeeded", "failed"] {
        shop.sandbox.execute(&insert(status)).await;
    }
    for status in ["done", "dead", "Pending", "pending ", "", "cancelled"] {
        assert_eq!(refusal(&shop.sandbox, &insert(status)).await, CHECK_VIOLATION, "{status:?}");
        let update = format!("update :schema.job_live set status = '{status}' where status = 'pending'");
        assert_eq!(refusal(&shop.sandbox, &update).await, CHECK_VIOLATION, "{status:?}");
    }
    assert_eq!(refusal(&shop.sandbox, "update :schema.job_live set status = null").await, CHECK_VIOLATION);
}

/// S0-5: a job that succeeded never changes and never comes back, by whatever statement.
#[tokio::test]
async fn a_succeeded_job_is_final() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let succeeded = shop.sandbox.jobs().await.only().clone();
    assert_eq!(succeeded.status, "succeeded");
    let partition = text(&shop.sandbox, "select tableoid::regclass::text from :schema.job").await;
    for statement in [
        "update :schema.job set status = 'pending', completed_at = null".to_owned(),
        "update :schema.job set last_error = 'x'".to_owned(),
        "update :schema.job_succeeded set attempts = 0".to_owned(),
        "delete from :schema.job".to_owned(),
        format!("update {partition} set attempts = 0"),
        format!("delete from {partition}"),
    ] {
        assert_eq!(refusal(&shop.sandbox, &statement).await, RESTRICT_VIOLATION, "{statement}");
    }
    assert!(matches!(outbox.redrive(succeeded.id).await, Err(outbox::OperationError::NotFailed(_))));
    assert!(matches!(outbox.cancel(succeeded.id, "no").await, Err(outbox::OperationError::NotLive(_))));
    assert_eq!(*shop.sandbox.jobs().await.only(), succeeded);
}

/// S0-5, S0-26: a failed job changes by no statement, and comes back through `redrive` only.
#[tokio::test]
async fn a_failed_job_leaves_through_redrive_only() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    shop.script.answers("notifications.confirm", [Answer::With(Failure::quarantine("broken"))]);
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let failed = shop.sandbox.jobs().await.only().clone();
    assert_eq!(failed.status, "failed");
    for statement in [
        "update :schema.job set status = 'pending', completed_at = null",
        "update :schema.job_failed set attempts = 0",
        "delete from :schema.job_failed",
        "delete from :schema.job",
    ] {
        assert_eq!(refusal(&shop.sandbox, statement).await, RESTRICT_VIOLATION, "{statement}");
    }
    assert_eq!(*shop.sandbox.jobs().await.only(), failed);
    assert_eq!(outbox.drain().await.unwrap().executions, 0, "it is not retried by itself");
    outbox.redrive(failed.id).await.unwrap();
    let again = shop.sandbox.jobs().await.only().clone();
    assert_eq!((again.id, again.status.as_str(), again.attempts), (failed.id, "pending", 0));
}

/// S0-6: a job has either an event or a payload of its own, and the table refuses both the one that has neither and the one
/// that has both. No foreign key can take jobs away with their event.
#[tokio::test]
async fn a_job_has_an_event_or_a_payload_of_its_own() {
    let sandbox = Sandbox::new().await;
    let insert = |event: &str, payload: &str| {
        format!(
            "insert into :schema.job (id, event_id, payload, job_type, max_attempts)
             values (gen_random_uuid(), {event}, {payload}, 'a.b', 1)"
        )
    };
    assert_eq!(refusal(&sandbox, &insert("null", "null")).await, CHECK_VIOLATION);
    assert_eq!(refusal(&sandbox, &insert("gen_random_uuid()", "'{}'")).await, CHECK_VIOLATION);
    sandbox.execute(&insert("gen_random_uuid()", "null")).await;
    sandbox.execute(&insert("null", "'{}'")).await;
    let keys = format!(
        "select count(*) from pg_constraint where contype = 'f' and connamespace = '\"{}\"'::regnamespace",
        sandbox.schema()
    );
    assert_eq!(sandbox.number(&keys).await, 0);
}

/// S0-10: the table itself refuses a second job of one event for one handler while the first is live.
#[tokio::test]
async fn an_event_has_one_live_job_a_handler() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    publish(&outbox, "o1").await;
    let again = "insert into :schema.job_live (id, event_id, job_type, max_attempts)
                 select gen_random_uuid(), event_id, job_type, 1 from :schema.job_live";
    assert_eq!(refusal(&shop.sandbox, again).await, "23505");
}

/// S0-22: nothing that a claim writes stands in a key or a predicate of an index on live jobs, and a claim is in fact a
/// heap-only update: it writes no index.
#[tokio::test]
async fn a_claim_writes_no_index() {
    let shop = Shop::new().await;
    let indexes = texts(
        &shop.sandbox,
        &format!(
            "select pg_get_indexdef(indexrelid) from pg_index where indrelid = '{}'::regclass",
            shop.sandbox.table("job_live")
        ),
    )
    .await;
    assert_eq!(indexes.len(), 3, "{indexes:#?}");
    for index in &indexes {
        let columns = index.split_once(" USING ").unwrap().1;
        for written in ["status", "locked_", "attempts", "crashes", "claim_id"] {
            assert!(!columns.contains(written), "{index}");
        }
    }
    let outbox = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    publish(&outbox, "o1").await;
    shop.script
        .answers("notifications.confirm", [Answer::With(Failure::snooze(std::time::Duration::ZERO, "once more"))]);
    outbox.drain().await.unwrap();
    let hot = format!(
        "select n_tup_upd > 0 and n_tup_hot_upd > 0 from pg_stat_user_tables where relid = '{}'::regclass",
        shop.sandbox.table("job_live")
    );
    eventually("the claims are counted as heap-only", async || holds(&shop.sandbox, &hot).await.then_some(())).await;
}

/// S0-16: the job row of each of two handlers of one module on one event ends, fails and is redriven by itself (O13).
#[tokio::test]
async fn two_failed_handlers_of_one_event_are_two_failed_jobs() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["inventory.take", "notifications.confirm"]).build().await.unwrap();
    for handler in ["inventory.take", "notifications.confirm"] {
        shop.script.answers(handler, [Answer::With(Failure::quarantine("broken"))]);
    }
    let published = publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let failed = outbox.failed(10).await.unwrap();
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|job| job.event_id == Some(published.event_id)));
    for (done, job) in failed.iter().enumerate() {
        outbox.redrive(job.id).await.unwrap();
        outbox.drain().await.unwrap();
        let jobs = shop.sandbox.jobs().await;
        assert_eq!((jobs.succeeded(), jobs.failed()), (done + 1, 1 - done));
    }
}

/// Where the application's connections are serializable by default, the engine's own transactions are read committed,
/// which its two-statement rescue and backfill need, and publish and handlers work.
#[tokio::test]
async fn the_engine_is_read_committed_wherever_the_application_is_not() {
    let shop = Shop::with_default(&[("default_transaction_isolation", "serializable")]).await;
    let trigger = "create table :schema.seen (isolation text);
        create function :schema.see() returns trigger language plpgsql as
          $$ begin insert into :schema.seen values (current_setting('transaction_isolation')); return new; end $$;
        create trigger see before insert on :schema.worker for each row execute function :schema.see();";
    shop.sandbox.execute(trigger).await;
    let pool = PgPoolOptions::new().max_connections(4).connect_with(shop.sandbox.options()).await.unwrap();
    let isolation: String = sqlx::query_scalar("show transaction_isolation").fetch_one(&pool).await.unwrap();
    assert_eq!(isolation, "serializable");
    let outbox = shop
        .sandbox
        .outbox_on(pool)
        .registry(linking([on("inventory.count", "order.placed")]))
        .state(shop.script.clone())
        .build()
        .await
        .unwrap();
    publish(&outbox, "o1").await;
    let done = async {
        eventually("the job has run", async || (shop.sandbox.jobs().await.succeeded() == 1).then_some(())).await;
    };
    outbox.run(done).await.unwrap();
    assert_eq!(texts(&shop.sandbox, "select isolation from :schema.seen").await, ["read committed"]);
}
