//! In-transaction subscribers: run inside of `publish`, on the caller's connection, exactly once for each event.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{BuildError, Fault, OutboxTransaction, PublishError, Registry};
use outbox_testing::fault::Point;
use sqlx::AssertSqlSafe;

use crate::linkage::{linking, on, only_events};
use crate::proxy;
use crate::sql::{assert_usable, holds, texts};
use crate::support::{Effects, OrderPlaced, Script, Shop};
use crate::wire::Wire;

/// A wish.
#[event("wish.uttered")]
struct WishUttered {
    #[subject]
    wish: String,
}

/// What the audit says of itself.
#[event("audit.kept")]
struct AuditKept {
    #[subject]
    of: String,
}

#[derive(Clone)]
struct Audit(String);

impl Audit {
    async fn keep(&self, tx: &mut Tx<'_>, event: &Envelope) -> Result<(), sqlx::Error> {
        let text = format!(
            "insert into {} (event_id, action, who, subject_id, occurred_at) values ($1, $2, $3, $4, $5)",
            self.0
        );
        sqlx::query(AssertSqlSafe(text))
            .bind(event.id.as_uuid())
            .bind(&event.name)
            .bind(&event.metadata.actor)
            .bind(&event.subject.id)
            .bind(event.occurred_at)
            .execute(&mut **tx)
            .await
            .map(drop)
    }
}

/// Keeps a row of every event, whatever it is.
#[subscriber(event = "*", name = "audit.keep", in_transaction)]
async fn keep(event: Envelope, mut tx: Tx<'_>, State(audit): State<Audit>) -> HandlerResult {
    Ok(audit.keep(&mut tx, &event).await?)
}

/// Does as the wish says.
#[subscriber(event = "wish.uttered", name = "wishes.grant", in_transaction, timeout = "1s", when = is_one)]
async fn grant(
    wish: WishUttered,
    mut tx: Tx<'_>,
    State(effects): State<Effects>,
    State(script): State<Script>,
) -> HandlerResult {
    script.note(&wish.wish);
    effects.add(&mut tx, "wishes.grant", &wish.wish).await?;
    match wish.wish.as_str() {
        "an error" => Err("no wish left")?,
        "a discard" => Err(Failure::discard("no wish left"))?,
        "a panic" => panic!("the lamp broke"),
        "to wait" => std::future::pending().await,
        "a mistake" => _ = sqlx::query("select 1 / 0").execute(&mut *tx).await,
        "an end" => _ = sqlx::query("commit").execute(&mut *tx).await?,
        "more" => _ = WishUttered { wish: "one more".into() }.publish(&mut tx).await?,
        "more, if possible" => {
            let refused = WishUttered { wish: "an error".into() }.publish(&mut tx).await.expect_err("it fails");
            script.note(refused.to_string());
        }
        _ => {}
    }
    Ok(())
}

fn is_one(wish: &WishUttered) -> bool {
    wish.wish != "nothing"
}

/// Publishes a fact of its own for each event, those included.
#[subscriber(event = "*", name = "echo.answer", in_transaction)]
async fn answer(event: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    AuditKept { of: event.subject.id.unwrap_or_default() }.publish(&mut tx).await?;
    Ok(())
}

/// An ordinary handler that publishes in its own transaction.
#[subscriber(event = "order.placed", name = "wishes.utter", max_attempts = 1)]
async fn utter(order: OrderPlaced, mut tx: Tx<'_>) -> HandlerResult {
    WishUttered { wish: order.order_id }.publish(&mut tx).await?;
    Ok(())
}

/// A shop with a table for the audit.
struct Audited {
    shop: Shop,
}

impl Audited {
    async fn new() -> Self {
        let shop = Shop::new().await;
        shop.sandbox
            .execute(
                "create table :schema.audit_log (event_id uuid primary key, action text not null, who text, subject_id text,
                 occurred_at timestamptz not null)",
            )
            .await;
        Self { shop }
    }

    fn builder(&self, handlers: &[&str]) -> outbox::OutboxBuilder {
        self.shop.outbox(handlers).state(Audit(self.shop.sandbox.table("audit_log")))
    }

    async fn outbox(&self, handlers: &[&str]) -> Outbox {
        self.builder(handlers).build().await.unwrap()
    }

    async fn audited(&self) -> i64 {
        self.shop.sandbox.number("select count(*) from :schema.audit_log").await
    }

    async fn events(&self) -> i64 {
        self.shop.sandbox.number("select count(*) from :schema.event").await
    }

    /// Utters a wish in a transaction that goes on and commits, with a row of its own.
    async fn refused(&self, outbox: &Outbox, wish: &str) -> PublishError {
        let mut tx = outbox.begin().await.unwrap();
        let error = outbox.publish(&mut tx, &of(wish)).key(wish).await.unwrap_err();
        self.effects_are(&mut tx, 0).await;
        assert_usable(tx, &self.shop.sandbox).await;
        self.shop.sandbox.execute("delete from :schema.effect").await;
        assert_eq!((self.events().await, self.audited().await), (0, 0), "{wish}");
        assert_eq!(self.shop.sandbox.number("select count(*) from :schema.publish_key").await, 0, "the key is free");
        error
    }

    async fn effects_are(&self, tx: &mut OutboxTransaction, count: i64) {
        let text = format!("select count(*) from {}", self.shop.sandbox.table("effect"));
        let found: i64 = sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&mut **tx).await.unwrap();
        assert_eq!(found, count);
    }
}

fn of(wish: &str) -> WishUttered {
    WishUttered { wish: wish.into() }
}

/// S1-2, S1-4: the audit's row is written inside of `publish`, before it answers; a rollback leaves neither it nor the event, a commit
/// exactly one of each. S1-15: it holds the event's own name. S1-1: and who did it.
#[tokio::test]
async fn a_row_for_each_event_commits_with_it_or_not_at_all() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish(&mut tx, &of("a")).actor("ann").await.unwrap();
    assert_eq!(published.jobs, 0, "it has no job");
    let seen: i64 =
        sqlx::query_scalar(AssertSqlSafe(format!("select count(*) from {}", audited.shop.sandbox.table("audit_log"))))
            .fetch_one(&mut *tx)
            .await
            .unwrap();
    assert_eq!((seen, audited.audited().await), (1, 0), "in the caller's transaction, and only there");
    tx.rollback().await.unwrap();
    assert_eq!((audited.events().await, audited.audited().await), (0, 0));

    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &of("b")).actor("ann").await.unwrap();
    outbox.publish_all(&mut tx, &[OrderPlaced::of("o1"), OrderPlaced::of("o2")]).await.unwrap();
    tx.commit().await.unwrap();
    let rows = "select action || ' ' || coalesce(who, '-') || ' ' || subject_id from :schema.audit_log order by 1";
    assert_eq!(
        texts(&audited.shop.sandbox, rows).await,
        ["order.placed - o1", "order.placed - o2", "wish.uttered ann b"]
    );
    let same = "select count(*) = 3 and bool_and(a.occurred_at = e.occurred_at) from :schema.audit_log a
                join :schema.event e on e.id = a.event_id and e.event_type = a.action";
    assert!(holds(&audited.shop.sandbox, same).await, "the event's own id and time");
    assert!(audited.shop.sandbox.jobs().await.is_empty());
}

/// S1-4: a publish key that was published before writes nothing, so the subscriber does not run again; of a batch it runs for what is
/// new.
#[tokio::test]
async fn a_duplicate_key_runs_nothing() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    for duplicate in [false, true] {
        let mut tx = outbox.begin().await.unwrap();
        let published = outbox.publish(&mut tx, &of("a")).key("k1").await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(published.duplicate, duplicate);
    }
    let mut tx = outbox.begin().await.unwrap();
    let wishes = ["c", "a", "b", "b"].map(of);
    let published = outbox.publish_all(&mut tx, &wishes).keys(["k3", "k1", "k2", "k2"]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(published.iter().map(|one| one.duplicate).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(audited.shop.script.notes(), ["a", "c", "b"]);
    assert_eq!((audited.events().await, audited.audited().await), (3, 3));
}

/// S1-2: an error fails the publish and names event, subscriber and cause. What was written for the event is undone, by the others too;
/// the transaction goes on without it, and commits.
#[tokio::test]
async fn an_error_fails_the_publish_and_not_the_transaction() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    let begins = "`wish.uttered` was not published: its in-transaction subscriber `wishes.grant` failed: ";
    for (wish, why) in [
        ("an error", "no wish left"),
        ("a discard", "no wish left"),
        ("a panic", "it panicked: the lamp broke"),
        ("to wait", "it timed out after 1s"),
        ("a mistake", "it left the transaction aborted: "),
    ] {
        let error = audited.refused(&outbox, wish).await;
        assert!(matches!(&error, PublishError::Subscriber { name: "wish.uttered", handler: "wishes.grant", .. }));
        let text = error.to_string();
        assert!(text.starts_with(&format!("{begins}{why}")), "{text}");
    }
}

/// A part of a batch is no part: when one fails, none of the others is left.
#[tokio::test]
async fn one_that_fails_undoes_its_whole_batch() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish_all(&mut tx, &["a", "an error", "b"].map(of)).await.unwrap_err();
    assert!(matches!(error, PublishError::Subscriber { .. }));
    outbox.publish_all(&mut tx, &["c", "d"].map(of)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((audited.events().await, audited.audited().await, audited.shop.effects().await), (2, 2, 2));
    assert_eq!(audited.shop.script.notes(), ["a", "an error", "c", "d"]);
}

/// A subscriber that waits for a lock does not wait on behind its end: the server ends its statement too. The caller's own limit is
/// the same before and behind, and a shorter one stays while it runs.
#[tokio::test]
async fn one_that_waits_for_a_lock_ends() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["wishes.grant"]).await;
    let mut holder = audited.shop.sandbox.pool().begin().await.unwrap();
    let lock = format!("lock table {} in exclusive mode", audited.shop.sandbox.table("effect"));
    sqlx::query(AssertSqlSafe(lock)).execute(&mut *holder).await.unwrap();
    for (own, why) in [("0", "it timed out after 1s"), ("100ms", "canceling statement due to statement timeout")] {
        let mut tx = outbox.begin().await.unwrap();
        limit(&mut tx, own).await;
        let publish = std::future::IntoFuture::into_future(outbox.publish(&mut tx, &of("a")));
        let error = tokio::time::timeout(Duration::from_secs(20), publish).await.expect("it ends").unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(limit_of(&mut tx).await, own);
        tx.commit().await.unwrap();
    }
    holder.rollback().await.unwrap();
    for own in ["0", "7s", "100ms"] {
        let mut tx = outbox.begin().await.unwrap();
        limit(&mut tx, own).await;
        outbox.publish(&mut tx, &of("a")).await.unwrap();
        assert_eq!(limit_of(&mut tx).await, own);
        tx.commit().await.unwrap();
    }
    assert_eq!((audited.events().await, audited.shop.effects().await), (3, 3));
}

async fn limit(tx: &mut OutboxTransaction, own: &str) {
    sqlx::query("select set_config('statement_timeout', $1, true)").bind(own).execute(&mut **tx).await.unwrap();
}

async fn limit_of(tx: &mut OutboxTransaction) -> String {
    sqlx::query_scalar("show statement_timeout").fetch_one(&mut **tx).await.unwrap()
}

/// A subscriber that ends the transaction is an error, and loud: what stood in it may be committed.
#[tokio::test]
async fn one_that_ends_the_transaction_is_refused() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish(&mut tx, &of("an end")).await.unwrap_err();
    assert!(
        error.to_string().ends_with("it ended the transaction that it was given (a COMMIT or ROLLBACK in raw SQL)"),
        "{error}"
    );
}

/// A future that is dropped in the middle leaves no event without its subscribers, even if the transaction is then committed.
#[tokio::test]
async fn a_publish_that_is_dropped_leaves_no_event() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let script = audited.shop.script.clone();
    {
        let publish = std::future::IntoFuture::into_future(outbox.publish(&mut tx, &of("to wait")));
        let began = outbox_testing::eventually("the subscriber has begun", async || {
            (script.count("to wait") > 0).then_some(())
        });
        tokio::select! {
            _ = publish => panic!("it waits"),
            () = began => {}
        }
    }
    assert_usable(tx, &audited.shop.sandbox).await;
    assert_eq!((audited.events().await, audited.audited().await), (0, 0));
}

/// S1-4: at whichever statement the connection is lost, event and audit are both there or neither is, and a repeat under the same key
/// leaves exactly one of each.
#[tokio::test]
async fn a_connection_that_is_lost_leaves_both_or_none() {
    let audited = Audited::new().await;
    let proxy = proxy::start().await;
    let state = Audit(audited.shop.sandbox.table("audit_log"));
    let registry = Registry::linked().with_subscribers(|one| one.name == "audit.keep");
    let outbox = audited.shop.sandbox.outbox_on(proxy::pool(&proxy)).registry(registry).state(state);
    let outbox = outbox.poll_only().build().await.unwrap();
    let try_once = async |key: &str| {
        let mut tx = outbox.begin().await?;
        outbox.publish(&mut tx, &of(key)).key(key).await?;
        Ok::<_, outbox::BoxError>(tx.commit().await?)
    };
    let mut keys = 0;
    for statement in ["savepoint", "publish_keyed", "bound", "insert", "lift", "release", "commit"] {
        for point in [Point::before(statement), Point::after(statement)] {
            let key = point.to_string();
            let cut = proxy.cut_at(point);
            try_once(&key).await.expect_err("the connection is lost");
            cut.until_reached().await;
            let committed = i64::from(key == "after `commit`");
            assert_eq!(
                (audited.events().await, audited.audited().await),
                (keys + committed, keys + committed),
                "{key}"
            );
            try_once(&key).await.unwrap();
            keys += 1;
            assert_eq!((audited.events().await, audited.audited().await), (keys, keys), "{key}");
        }
    }
}

/// What a subscriber publishes is published: with its own subscribers, its correlation and its cause. Its error is the subscriber's to
/// take or to pass on.
#[tokio::test]
async fn what_it_publishes_itself_is_published() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let first = outbox.publish(&mut tx, &of("more")).actor("ann").await.unwrap();
    outbox.publish(&mut tx, &of("more, if possible")).await.unwrap();
    tx.commit().await.unwrap();
    let notes = audited.shop.script.notes();
    assert_eq!(notes[..4], ["more", "one more", "more, if possible", "an error"]);
    assert!(notes[4].ends_with("failed: no wish left"), "{notes:?}");
    let rows =
        "select subject_id || ' ' || coalesce(metadata->>'actor', '-') || ' ' || coalesce(metadata->>'causation', '-')
                from :schema.event order by id";
    let caused = format!("one more ann {}", first.event_id);
    assert_eq!(texts(&audited.shop.sandbox, rows).await, ["more ann -", &caused, "more, if possible - -"]);
    assert_eq!(audited.audited().await, 3);
}

/// Subscribers that publish what they receive come to an end: the whole publish is refused, and the transaction goes on.
#[tokio::test]
async fn publishing_within_each_other_has_an_end() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "echo.answer"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish(&mut tx, &of("a")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("publish within each other, 8 deep; does one of them receive what it publishes?"), "{text}");
    assert_usable(tx, &audited.shop.sandbox).await;
    assert_eq!((audited.events().await, audited.audited().await), (0, 0));
}

/// It is run by whoever publishes: a handler in its own transaction, too. When it fails there, the handler's job does.
#[tokio::test]
async fn a_handlers_own_publish_runs_it_in_the_handlers_transaction() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.utter", "wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &["fine", "an error"].map(OrderPlaced::of)).await.unwrap();
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    let rows = "select action || ' ' || subject_id from :schema.audit_log order by 1";
    assert_eq!(
        texts(&audited.shop.sandbox, rows).await,
        ["order.placed an error", "order.placed fine", "wish.uttered fine"]
    );
    let jobs = "select status || coalesce(': ' || last_error, '') from :schema.job order by 1";
    let jobs = texts(&audited.shop.sandbox, jobs).await;
    assert_eq!(jobs.len(), 2);
    assert!(jobs[0].starts_with("failed: `wish.uttered` was not published"), "{jobs:?}");
    assert_eq!(jobs[1], "succeeded");
}

/// `when` declines without a word.
#[tokio::test]
async fn what_it_declines_is_published_without_it() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &of("nothing")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((audited.events().await, audited.shop.effects().await), (1, 0));
}

/// S1-2: the catalogue knows it, so that a binary that does not link it cannot publish without it. Retired, it is run by nobody, also
/// where it is linked; activated, by everybody again.
#[tokio::test]
async fn the_catalogue_has_every_publisher_run_it() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep"]).await;
    let other = audited.shop.bare(linking([on("search.index", "wish.uttered")])).build().await.unwrap();
    let kind = "select kind || ' ' || source from :schema.subscription where handler = 'audit.keep'";
    assert_eq!(texts(&audited.shop.sandbox, kind).await, ["in_transaction *"]);
    let publish = async |outbox: &Outbox, key: &str| {
        let mut tx = outbox.begin().await.unwrap();
        let published = outbox.publish(&mut tx, &of("a")).key(key).await;
        let unkeyed = published.is_ok().then_some(outbox.publish(&mut tx, &of("b")).await);
        tx.commit().await.unwrap();
        (published.map(|one| one.jobs), unkeyed.map(|one| one.map(|one| one.jobs).unwrap()))
    };
    assert!(matches!(publish(&other, "1").await.0, Err(PublishError::Unlinked { .. })));
    assert!(matches!(publish(&outbox, "1").await, (Ok(1), Some(1))));
    assert_eq!(audited.audited().await, 2);
    outbox.retire("audit.keep").await.unwrap();
    assert!(matches!(publish(&other, "2").await, (Ok(1), Some(1))));
    assert!(matches!(publish(&outbox, "3").await, (Ok(1), Some(1))));
    assert_eq!(audited.audited().await, 2);
    outbox.activate("audit.keep").await.unwrap();
    assert!(matches!(publish(&outbox, "4").await, (Ok(1), Some(1))));
    assert_eq!(audited.audited().await, 4);
}

/// It runs wherever something is published: its state is asked for, whatever modules the process runs; and no worker claims for it.
#[tokio::test]
async fn its_state_is_asked_for_in_every_process() {
    let audited = Audited::new().await;
    let linked = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Registry::linked().with_subscribers(move |one| names.iter().any(|name| name == one.name))
    };
    let registry = linked(&["audit.keep", "notifications.confirm"]);
    let refused = audited.shop.bare(registry.clone()).modules(["notifications"]).build().await.unwrap_err();
    let BuildError::Wiring(faults) = refused else { panic!("{refused}") };
    assert!(matches!(faults[..], [Fault::MissingState { subscriber: "audit.keep", .. }]), "{faults:?}");
    let state = Audit(audited.shop.sandbox.table("audit_log"));
    let outbox = audited.shop.bare(registry).modules(["notifications"]).state(state).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    assert_eq!(outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap().jobs, 1);
    tx.commit().await.unwrap();
    assert_eq!(outbox.drain().await.unwrap().executions, 1);
    assert_eq!(audited.audited().await, 1);
    assert!(outbox.registry().to_string().contains("audit.keep (in the transaction),"), "{}", outbox.registry());
}

/// An event of a version that it does not take is refused: it must not commit without it.
#[tokio::test]
async fn another_version_of_the_event_is_refused() {
    let audited = Audited::new().await;
    let mut subscriber = on("audit.take", "wish.uttered");
    subscriber.in_transaction = true;
    subscriber.versions = outbox_core::Versions::Only(&[2, 3]);
    let outbox = audited.shop.bare(linking([subscriber])).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish(&mut tx, &of("a")).await.unwrap_err();
    assert!(error.to_string().ends_with("`audit.take` failed: it does not take version 1 of the event"), "{error}");
    assert_usable(tx, &audited.shop.sandbox).await;
}

/// What it costs is paid by the events that have one: five statements beside its own. A publish without is one round trip, as ever.
#[tokio::test]
async fn a_publish_without_one_is_one_round_trip() {
    let audited = Audited::new().await;
    let wire = Wire::default();
    let pool = wire.pool(&audited.shop.sandbox).await;
    for (registry, count) in
        [(only_events(), 1), (Registry::linked().with_subscribers(|one| one.name == "audit.keep"), 6)]
    {
        let state = Audit(audited.shop.sandbox.table("audit_log"));
        let builder = audited.shop.sandbox.outbox_on(pool.clone()).registry(registry).state(state);
        let outbox = builder.poll_only().build().await.unwrap();
        let mut tx = outbox.begin().await.unwrap();
        for _ in 0..2 {
            outbox.publish(&mut tx, &of("prepares the statements")).await.unwrap();
        }
        wire.take();
        outbox.publish(&mut tx, &of("a")).await.unwrap();
        let sent = wire.take();
        assert_eq!((sent.statements(), sent.round_trips()), (count, count), "{sent:?}");
        tx.rollback().await.unwrap();
    }
}
