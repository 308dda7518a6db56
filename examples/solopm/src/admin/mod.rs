//! For those who run the server: the jobs that are dead, and the schedules.

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use chrono::{DateTime, Utc};
use outbox::{FailedJob, JobId, ScheduleStatus};
use serde::Serialize;

use crate::app::App;
use crate::refused::{Refused, Result};
use crate::session::Admin;

/// Most dead jobs that are shown.
const SHOWN: u32 = 200;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/admin/dead", get(dead))
        .route("/api/admin/dead/{job}/redrive", post(redrive))
        .route("/api/admin/schedules", get(schedules))
}

/// A job that ended badly: what a person needs to mend it.
#[derive(Debug, Serialize)]
struct Dead {
    id: String,
    kind: String,
    reason: String,
    last_error: Option<String>,
    attempts: u32,
    failed_at: DateTime<Utc>,
}

impl From<FailedJob> for Dead {
    fn from(job: FailedJob) -> Self {
        let FailedJob { id, handler, reason, last_error, attempts, failed_at, .. } = job;
        Self { id: id.to_string(), kind: handler, reason, last_error, attempts, failed_at }
    }
}

async fn dead(_: Admin, State(app): State<App>) -> Result<Json<Vec<Dead>>> {
    Ok(Json(app.outbox.failed(SHOWN).await?.into_iter().map(Dead::from).collect()))
}

/// A new life for one of them, when its cause is gone.
async fn redrive(_: Admin, State(app): State<App>, Path(job): Path<String>) -> Result<()> {
    let job: JobId = job.parse().map_err(|_| Refused::NotFound("job"))?;
    Ok(app.outbox.redrive(job).await?)
}

/// A schedule, and when it is due.
#[derive(Debug, Serialize)]
struct Due {
    name: String,
    cadence: String,
    zone: String,
    last_tick: Option<DateTime<Utc>>,
    next_tick: Option<DateTime<Utc>>,
}

impl From<ScheduleStatus> for Due {
    fn from(schedule: ScheduleStatus) -> Self {
        let ScheduleStatus { name, cadence, zone, last_tick, next_tick, .. } = schedule;
        Self { name, cadence, zone, last_tick, next_tick }
    }
}

async fn schedules(_: Admin, State(app): State<App>) -> Result<Json<Vec<Due>>> {
    Ok(Json(app.outbox.schedules().all().await?.into_iter().map(Due::from).collect()))
}
