//! A process that dies in the middle of a delivery.

use std::process::{Command, Stdio};
use std::time::Duration;

use outbox::Outbox;
use outbox_testing::fault::Process;
use outbox_testing::{Sandbox, eventually};
use outbox_webhooks::{DeliveryStatus, Webhooks};
use sqlx::PgPool;

use crate::floor::{Floor, TIMEOUT};
use crate::receiver::{Receiver, Reply};

const SCHEMA: &str = "OUTBOX_TEST_WEBHOOKS_SCHEMA";
const URL: &str = "OUTBOX_TEST_WEBHOOKS_URL";
const LEASE: Duration = Duration::from_secs(2);

/// A worker that is a process of its own: this test binary again. Its environment names a proxy, which is none of its business.
async fn worker(floor: &Floor, proxy: &Receiver) -> Process {
    let proxy = format!("http://{}", proxy.address);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
        .env(SCHEMA, floor.sandbox.schema())
        .env(URL, Sandbox::url().await)
        .envs(
            ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
                .map(|name| (name, &proxy)),
        )
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    Process::spawn(&mut command).unwrap()
}

/// What that process does; in the test run itself, nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(schema) = std::env::var(SCHEMA) else { return };
    let pool = PgPool::connect(&std::env::var(URL).unwrap()).await.unwrap();
    let webhooks = Webhooks::builder(pool.clone()).schema(&schema).timeout(TIMEOUT);
    let webhooks = webhooks.allow_http(true).allow_private_networks(true).build().unwrap();
    let outbox = Sandbox::suited(Outbox::builder(pool)).schema(schema).state(webhooks).lease(LEASE);
    let outbox = outbox.poll_interval(Duration::from_millis(50)).build().await.unwrap();
    outbox.run(outbox::shutdown_signal()).await.unwrap();
}

/// A receiver has it and the process dies before that is written down: it comes once more, under the same id, and the log shows an
/// attempt without an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_whose_process_dies_comes_again_under_its_id() {
    let floor = Floor::new().await;
    let (receiver, proxy) = (Receiver::answering([Reply::Never, Reply::status(200)]).await, Receiver::new().await);
    let created = floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    let first = worker(&floor, &proxy).await;
    receiver.until(1).await;
    drop(first); // SIGKILL
    let _second = worker(&floor, &proxy).await;
    receiver.until(2).await;
    let delivery = eventually("it is delivered", async || {
        let delivery = floor.only(event).await;
        (delivery.status == DeliveryStatus::Delivered).then_some(delivery)
    })
    .await;
    let requests = receiver.requests();
    assert_eq!((requests[0].id(), &requests[0].body), (requests[1].id(), &requests[1].body));
    assert!(requests.iter().all(|request| request.verify(&created.secret).is_ok()));
    let attempts = floor.attempts(&delivery).await;
    assert_eq!(attempts.len(), 2);
    assert_eq!((attempts[0].ended_at, attempts[0].status, attempts[0].error.as_deref()), (None, None, None));
    assert_eq!(attempts[1].status, Some(200));
    assert_eq!(proxy.connections(), 0);
}

/// S1-55: nobody runs our code when a process dies at the last attempt. The log says failed all the same, as the job does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_whose_process_dies_at_the_last_attempt_shows_as_failed() {
    let floor = Floor::new().await;
    let (receiver, proxy) = (Receiver::answering([Reply::Never]).await, Receiver::new().await);
    floor.endpoint(&receiver).await;
    floor
        .sandbox
        .execute(
            "create function :schema.once() returns trigger language plpgsql as $$
               begin if new.job_type = 'webhooks.deliver' then new.max_attempts := 1; end if; return new; end $$;
             create trigger once before insert on :schema.job_live for each row execute function :schema.once()",
        )
        .await;
    let event = floor.issue().await;
    let first = worker(&floor, &proxy).await;
    receiver.until(1).await;
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Pending);
    drop(first); // SIGKILL
    let _second = worker(&floor, &proxy).await;
    let delivery = eventually("the log says failed", async || {
        let delivery = floor.only(event).await;
        (delivery.status == DeliveryStatus::Failed).then_some(delivery)
    })
    .await;
    assert_eq!(delivery.reason.as_deref(), Some("crashed"));
    assert_eq!(floor.jobs().await[0].status, "failed");
    assert_eq!(receiver.requests().len(), 1);
}

/// Killed behind the record of the answer and before the end of the job: the receiver is not called again.
#[tokio::test]
async fn what_is_recorded_as_delivered_is_not_sent_again() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    // As if the first execution had come to its record and no further.
    floor
        .sandbox
        .execute(
            "create function :schema.had() returns trigger language plpgsql as $$
               begin new.delivered_at := clock_timestamp(); return new; end $$;
             create trigger had before update of job_id on :schema.webhook_delivery for each row execute function :schema.had()",
        )
        .await;
    floor.drain().await;
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Delivered);
    assert_eq!(floor.jobs().await[0].status, "succeeded");
    assert!(receiver.requests().is_empty());
}

/// The receiver has it and the database does not take the answer: it comes once more, under the same id.
#[tokio::test]
async fn an_answer_that_cannot_be_written_down_comes_again() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    floor.endpoint(&receiver).await;
    floor
        .sandbox
        .execute(
            "create function :schema.refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
             create trigger refuse before update on :schema.webhook_attempt for each row execute function :schema.refuse()",
        )
        .await;
    let event = floor.issue().await;
    floor.drain().await;
    let delivery = floor.only(event).await;
    assert_eq!((delivery.status, delivery.delivered_at), (DeliveryStatus::Pending, None));
    floor.sandbox.execute("drop trigger refuse on :schema.webhook_attempt").await;
    floor.to_the_end().await;
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Delivered);
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[0].id(), &requests[0].body), (requests[1].id(), &requests[1].body));
}
