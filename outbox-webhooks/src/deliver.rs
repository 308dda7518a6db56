//! **deliver**: one delivery's job. It holds no transaction and no connection while it waits for the receiver.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use outbox::{Attempt, Backoff, BoxError, Envelope, EventId, Failure, HandlerResult, State, job, subscriber};
use sqlx::Row as _;
use uuid::Uuid;

use crate::call::{self, Answer, Message};
use crate::id::{DeliveryId, EndpointId};
use crate::record::{Begun, acquire, within};
use crate::secret::Secret;
use crate::signature::sign;
use crate::target::Target;
use crate::turns::Turn;
use crate::webhooks::Webhooks;

/// Deliver this.
#[job("webhooks.deliver")]
pub(crate) struct Deliver {
    pub(crate) delivery: DeliveryId,
    /// Whose turn it takes, so that this is known before anything is read.
    pub(crate) endpoint: EndpointId,
}

/// The same schedule as the attribute's below, for a receiver that asks for more time.
const BACKOFF: Backoff = Backoff::exponential(Duration::from_mins(1), Duration::from_hours(1));

/// Which part of the longest call makes a slow one.
const SLOW: u32 = 5;
/// How long a delivery steps back, and up to twice as long: the calls that it steps back from have ended by then, or soon will have.
const STEP_BACK: Duration = Duration::from_secs(15);

/// What the database knows of a delivery when an attempt begins.
struct Order {
    event: EventId,
    endpoint: EndpointId,
    url: String,
    body: String,
    secrets: Vec<String>,
    /// Whether the job has no further attempt.
    is_last: bool,
    disabled: Option<String>,
    is_delivered: bool,
    is_superseded: bool,
    attempt: Option<i64>,
}

/// At most half of a worker's usual slots, so that receivers that do not answer do not keep everything else from running.
#[subscriber(
    job = "webhooks.deliver",
    max_attempts = 8,
    backoff = exponential("60s", max = "1h"),
    timeout = "60s",
    concurrency = 8,
    idempotent = "the receiver knows the message by its webhook-id"
)]
async fn deliver(
    job: Deliver,
    event: Envelope,
    Attempt(attempt): Attempt,
    State(webhooks): State<Webhooks>,
) -> HandlerResult {
    let Some(turn) = webhooks.inner().turns.take(job.endpoint) else {
        let pause = STEP_BACK + STEP_BACK.mul_f64(rand::random());
        return Err(Failure::snooze(pause, "its endpoint is slow, and other endpoints have their turn"))?;
    };
    let Some(order) = webhooks.begin(job.delivery, event.id.as_uuid(), attempt).await? else {
        return Err(Failure::discard("its endpoint or its delivery is not there any more"))?;
    };
    if order.is_superseded {
        return Err(Failure::discard("another job has this delivery"))?;
    }
    if order.is_delivered {
        // Its process died between the record and the end of the job.
        return Ok(());
    }
    let Some(number) = order.attempt else {
        let why = order.disabled.unwrap_or_default();
        return Err(Failure::quarantine(format!("the endpoint is disabled: {why}")))?;
    };
    webhooks.attempt(Begun { delivery: job.delivery, attempt: number }, order, attempt, turn).await
}

impl Webhooks {
    async fn begin(&self, delivery: DeliveryId, job: Uuid, attempt: u32) -> Result<Option<Order>, BoxError> {
        let mut connection = acquire(self.pool()).await?;
        let statement = sqlx::query(self.statements().begin.text())
            .bind(delivery.as_uuid())
            .bind(job)
            .bind(i32::try_from(attempt).unwrap_or(i32::MAX));
        let row = within(&mut connection, async |connection| statement.fetch_optional(connection).await).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Order {
            event: row.try_get::<Uuid, _>("event_id")?.into(),
            endpoint: row.try_get::<Uuid, _>("endpoint_id")?.into(),
            url: row.try_get("url")?,
            body: row.try_get("body")?,
            secrets: row.try_get("secrets")?,
            is_last: row.try_get("is_last")?,
            disabled: row.try_get("disabled_reason")?,
            is_delivered: row.try_get("is_delivered")?,
            is_superseded: row.try_get("is_superseded")?,
            attempt: row.try_get("attempt_id")?,
        }))
    }

    async fn attempt(&self, begun: Begun, order: Order, attempt: u32, turn: Turn<'_>) -> HandlerResult {
        let (endpoint, is_last) = (order.endpoint, order.is_last);
        let (target, message) = match self.message(order) {
            Ok(ready) => ready,
            Err(complaint) => {
                // Nothing was sent, and nothing will be before somebody has changed the endpoint.
                self.failed(begun, endpoint, None, &complaint, true).await?;
                return Err(Failure::quarantine(complaint))?;
            }
        };
        let inner = self.inner();
        let begun_at = Instant::now();
        let outcome = call::post(&inner.connector, &target, message, inner.timeout, inner.answer_limit).await;
        turn.ended(begun_at.elapsed() > inner.timeout / SLOW);
        match outcome {
            Ok(answer) if answer.is_success() => Ok(self.record_delivered(begun, &answer).await?),
            Ok(answer) => {
                let complaint = answer.complaint();
                self.failed(begun, endpoint, Some(&answer), &complaint, is_last).await?;
                Err(verdict(&answer, complaint, attempt))
            }
            Err(error) => {
                let complaint = error.to_string();
                self.failed(begun, endpoint, None, &complaint, is_last).await?;
                Err(complaint)?
            }
        }
    }

    async fn failed(
        &self,
        begun: Begun,
        endpoint: EndpointId,
        answer: Option<&Answer>,
        complaint: &str,
        is_for_good: bool,
    ) -> HandlerResult {
        self.record_not_delivered(begun, answer, complaint).await?;
        let is_gone = answer.is_some_and(Answer::is_gone);
        if is_gone || is_for_good {
            self.judge(endpoint, begun.delivery, is_gone).await?;
        }
        Ok(())
    }

    /// What is sent and where to, signed now.
    fn message(&self, order: Order) -> Result<(Target, Message), String> {
        let target = Target::parse(&order.url, self.inner().rules).map_err(|error| error.to_string())?;
        let secrets = order.secrets.iter().map(|text| text.parse()).collect::<Result<Vec<Secret>, _>>();
        let secrets = secrets.map_err(|error| error.to_string())?;
        if secrets.is_empty() {
            return Err("the endpoint has no secret to sign with: rotate it".to_owned());
        }
        let id = order.event.to_string();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        let signature = sign(&secrets, &id, timestamp, order.body.as_bytes());
        Ok((target, Message { id, timestamp, signature, body: order.body }))
    }
}

/// When the delivery is tried again, by what the receiver said.
fn verdict(answer: &Answer, complaint: String, attempt: u32) -> BoxError {
    match answer.retry_after {
        _ if answer.is_gone() => {
            Failure::quarantine(format!("{complaint}: it wants no more, and the endpoint is disabled")).into()
        }
        // Not sooner than it asks for, and not sooner than without its asking.
        Some(asked) => Failure::retry_after(BACKOFF.delay(attempt, rand::random()).max(asked), complaint).into(),
        None => complaint.into(),
    }
}
