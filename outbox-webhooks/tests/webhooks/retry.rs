//! When a delivery is tried again, and when no more.

use std::time::{Duration, SystemTime};

use outbox_webhooks::DeliveryStatus;

use crate::floor::Floor;
use crate::receiver::{Receiver, Reply};

/// How many seconds behind its last attempt's end the only delivery is due.
async fn delay(floor: &Floor) -> i64 {
    let delay =
        "select extract(epoch from j.available_at - (select max(ended_at) from :schema.webhook_attempt))::bigint
                 from :schema.job_live j where j.job_type = 'webhooks.deliver'";
    floor.sandbox.number(delay).await
}

/// S1-52: the wait behind a failure is 30 s × 2^attempts, the failed one counted: 60 s, 120 s .. and an hour at most; and up to a fifth
/// more, so that what failed together comes back apart.
/// S1-53: eight attempts, and no ninth.
/// S1-55: the log says failed behind the last, as the job does.
#[tokio::test]
async fn a_delivery_is_tried_eight_times_by_its_schedule() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    let mut is_apart = false;
    for (failures, base) in [60, 120, 240, 480, 960, 1_920, 3_600].into_iter().enumerate() {
        floor.all_due().await;
        floor.drain().await;
        let delivery = floor.only(event).await;
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Pending, failures as u64 + 1));
        let delay = delay(&floor).await;
        // What the machine took between the attempt's record and the job's is on top of it.
        assert!((base..=base + base / 5 + 30).contains(&delay), "{failures} failures: {delay} s, not {base}");
        assert!(delivery.next_attempt_at.is_some());
        is_apart |= delay > base + 2;
    }
    assert!(is_apart, "without jitter, what failed together comes back together");
    floor.all_due().await;
    floor.drain().await;
    let delivery = floor.only(event).await;
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Failed, 8));
    assert_eq!(delivery.reason.as_deref(), Some("exhausted"));
    assert_eq!(delivery.last_error.as_deref(), Some("the receiver answered 500"));
    let job = &floor.jobs().await[0];
    assert_eq!((job.status.as_str(), job.reason.as_deref(), job.attempts), ("failed", Some("exhausted"), 8));
    floor.to_the_end().await;
    assert_eq!(receiver.requests().len(), 8);
    // The same message each time, and signed at its time.
    let requests = receiver.requests();
    assert!(requests.iter().all(|one| one.id() == event.to_string() && one.body == requests[0].body));
    let attempts: Vec<_> = floor.attempts(&delivery).await.iter().map(|one| one.attempt).collect();
    assert_eq!(attempts, [1, 2, 3, 4, 5, 6, 7, 8]);
}

async fn delay_behind(status: u16, headers: &str) -> i64 {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::with(status, headers)]).await;
    floor.endpoint(&receiver).await;
    floor.issue().await;
    floor.drain().await;
    let job = &floor.jobs().await[0];
    assert_eq!((job.status.as_str(), job.attempts), ("pending", 1), "{headers}");
    delay(&floor).await
}

#[tokio::test]
async fn retry_after_is_honoured_within_a_day_and_never_hastens() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_mins(50));
    for (status, headers, least, most) in [
        (503, "retry-after: 600\r\n".to_owned(), 600, 630),
        (429, "Retry-After: 600\r\n".to_owned(), 600, 630),
        (503, format!("retry-after: {date}\r\n"), 2_400, 3_001),
        (429, "retry-after: 1\r\n".to_owned(), 60, 102),
        (429, "retry-after: 0\r\n".to_owned(), 60, 102),
        (503, "retry-after: Thu, 01 Jan 1970 00:00:00 GMT\r\n".to_owned(), 60, 102),
        (503, "retry-after: 99999999999999999999\r\n".to_owned(), 86_400, 86_430),
        (503, "retry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n".to_owned(), 86_400, 86_430),
        (503, "retry-after: soon\r\n".to_owned(), 60, 102),
    ] {
        let delay = delay_behind(status, &headers).await;
        assert!((least..=most).contains(&delay), "{status} {headers:?}: {delay}");
    }
}

/// A receiver that asks for patience each time is still given up behind the eighth.
#[tokio::test]
async fn retry_after_counts_as_an_attempt() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::with(429, "retry-after: 5\r\n")]).await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.to_the_end().await;
    assert_eq!(receiver.requests().len(), 8);
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Failed);
}

#[tokio::test]
async fn a_receiver_that_recovers_gets_it() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500), Reply::status(404), Reply::status(200)]).await;
    let created = floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    let failing = floor.webhooks.endpoint(&mut connection, created.endpoint.id).await.unwrap().unwrap();
    assert!(failing.failing_since.is_some());
    floor.to_the_end().await;
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Delivered);
    let well = floor.webhooks.endpoint(&mut connection, created.endpoint.id).await.unwrap().unwrap();
    assert_eq!(well.failing_since, None);
}
