//! The delivery log: what went where, and what came of it.

use std::fmt;

use chrono::{DateTime, Utc};
use outbox::EventId;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use crate::id::{DeliveryId, EndpointId};
use crate::webhooks::Webhooks;

/// What has become of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryStatus {
    /// Its job has attempts to spare.
    Pending,
    /// The receiver answered 2xx.
    Delivered,
    /// No job will deliver it. It can be sent by [`Webhooks::redeliver`].
    Failed,
}

impl DeliveryStatus {
    /// The word for it, as the view `webhook_delivery_log` has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for DeliveryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One event on its way to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// Where it goes.
    pub endpoint: EndpointId,
    /// The event, whose id is the `webhook-id` of every attempt.
    pub event_id: EventId,
    /// The event's name.
    pub event_type: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// What has become of it. It is read from its job, so that it cannot say anything else than the job does.
    pub status: DeliveryStatus,
    /// When the receiver took it.
    pub delivered_at: Option<DateTime<Utc>>,
    /// When it is tried again, at the earliest.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// How often it was tried, redeliveries included.
    pub attempts: u64,
    /// The HTTP status of the last attempt, where there was an answer.
    pub last_status: Option<u16>,
    /// What was wrong with the last attempt.
    pub last_error: Option<String>,
    /// Why it failed: `exhausted`, `crashed`, `quarantined`, `cancelled`, or `gone` when its job is not there any more.
    pub reason: Option<String>,
}

/// One call, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryAttempt {
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended; `None`: it is under way, or its process died, and the receiver may have it.
    pub ended_at: Option<DateTime<Utc>>,
    /// Which attempt of its job it was, counted from 1, and from 1 again in a redelivery.
    pub attempt: u32,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// What was wrong; `None` behind a success.
    pub error: Option<String>,
    /// The beginning of what the receiver answered. A stranger's text: escape it where you show it.
    pub answer: Option<String>,
}

impl Webhooks {
    /// The newest deliveries to an endpoint, at most `most`.
    ///
    /// # Errors
    /// When the database does.
    pub async fn deliveries(
        &self,
        connection: &mut PgConnection,
        endpoint: EndpointId,
        most: u32,
    ) -> Result<Vec<Delivery>, sqlx::Error> {
        self.logged(connection, None, Some(endpoint), None, most).await
    }

    /// The deliveries of one event, at most `most`.
    ///
    /// # Errors
    /// When the database does.
    pub async fn deliveries_of(
        &self,
        connection: &mut PgConnection,
        event: EventId,
        most: u32,
    ) -> Result<Vec<Delivery>, sqlx::Error> {
        self.logged(connection, None, None, Some(event), most).await
    }

    /// The delivery with this id, if there is one.
    ///
    /// # Errors
    /// When the database does.
    pub async fn delivery(
        &self,
        connection: &mut PgConnection,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, sqlx::Error> {
        Ok(self.logged(connection, Some(id), None, None, 1).await?.pop())
    }

    /// Every attempt of a delivery, the oldest first.
    ///
    /// # Errors
    /// When the database does.
    pub async fn attempts(
        &self,
        connection: &mut PgConnection,
        id: DeliveryId,
    ) -> Result<Vec<DeliveryAttempt>, sqlx::Error> {
        let list = sqlx::query(self.statements().attempts.text()).bind(id.as_uuid());
        list.fetch_all(connection).await?.iter().map(read_attempt).collect()
    }

    async fn logged(
        &self,
        connection: &mut PgConnection,
        id: Option<DeliveryId>,
        endpoint: Option<EndpointId>,
        event: Option<EventId>,
        most: u32,
    ) -> Result<Vec<Delivery>, sqlx::Error> {
        let list = sqlx::query(self.statements().deliveries.text())
            .bind(id.map(DeliveryId::as_uuid))
            .bind(endpoint.map(EndpointId::as_uuid))
            .bind(event.map(EventId::as_uuid))
            .bind(i64::from(most));
        list.fetch_all(connection).await?.iter().map(read).collect()
    }
}

fn read(row: &PgRow) -> Result<Delivery, sqlx::Error> {
    let status = match row.try_get("status")? {
        "delivered" => DeliveryStatus::Delivered,
        "pending" => DeliveryStatus::Pending,
        _ => DeliveryStatus::Failed,
    };
    Ok(Delivery {
        id: row.try_get::<Uuid, _>("id")?.into(),
        endpoint: row.try_get::<Uuid, _>("endpoint_id")?.into(),
        event_id: row.try_get::<Uuid, _>("event_id")?.into(),
        event_type: row.try_get("event_type")?,
        created_at: row.try_get("created_at")?,
        status,
        delivered_at: row.try_get("delivered_at")?,
        next_attempt_at: row.try_get("next_attempt_at")?,
        attempts: row.try_get::<i64, _>("attempts")?.try_into().unwrap_or(0),
        last_status: read_status(row, "last_status")?,
        last_error: row.try_get("last_error")?,
        reason: row.try_get("reason")?,
    })
}

fn read_attempt(row: &PgRow) -> Result<DeliveryAttempt, sqlx::Error> {
    Ok(DeliveryAttempt {
        started_at: row.try_get("started_at")?,
        ended_at: row.try_get("ended_at")?,
        attempt: row.try_get::<i32, _>("attempt")?.try_into().unwrap_or(0),
        status: read_status(row, "status")?,
        error: row.try_get("error")?,
        answer: row.try_get("answer")?,
    })
}

fn read_status(row: &PgRow, column: &str) -> Result<Option<u16>, sqlx::Error> {
    Ok(row.try_get::<Option<i32>, _>(column)?.and_then(|status| status.try_into().ok()))
}
