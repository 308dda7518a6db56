//! Rows that a drain has beside its own, of the same handlers: finished jobs that are kept, or jobs that are not to be claimed.

use sqlx::{PgConnection, PgPool};

use super::Settings;
use super::order::{HANDLERS, OrderPlaced};
use crate::works::{OTHER, OURS, SAME, UNKNOWN};

/// How many of which.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Crowd {
    pub(super) finished: u64,
    waiting: Option<Waiting>,
}

/// Jobs that nobody is to claim.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    jobs: u64,
    priority: i16,
    version: i32,
    /// Due in so many seconds, from the first of them on.
    due: f64,
}

const DAY: f64 = 86_400.0;

impl Crowd {
    /// What a side has beside its work.
    pub(super) fn of(side: &str, settings: &Settings) -> anyhow::Result<Self> {
        let finished = if side == OURS { settings.number_or_none("finished") } else { 0 };
        let waiting = |priority, version, due| {
            anyhow::Ok(Some(Waiting { jobs: settings.number("waiting")?, priority, version, due }))
        };
        let waiting = match side {
            SAME => waiting(1, 1, DAY)?,
            OTHER => waiting(0, 1, DAY)?,
            // They have long been due: they stand before all that can be claimed.
            UNKNOWN => waiting(1, 2, -DAY)?,
            _ => None,
        };
        Ok(Self { finished, waiting })
    }

    /// Writes its rows, each job with its event.
    pub(super) async fn gather(&self, pool: &PgPool) -> anyhow::Result<()> {
        let events = |jobs: u64| i64::try_from(jobs / HANDLERS.len() as u64);
        let mut tx = pool.begin().await?;
        if self.finished > 0 {
            let events = events(self.finished)?;
            write_events(&mut tx, events).await?;
            let finished = sqlx::query(include_str!("crowd_finished.sql")).bind(events).bind(HANDLERS.as_slice());
            finished.execute(&mut *tx).await?;
        }
        if let Some(Waiting { jobs, priority, version, due }) = self.waiting {
            let events = events(jobs)?;
            write_events(&mut tx, events).await?;
            let waiting = sqlx::query(include_str!("crowd_waiting.sql")).bind(events).bind(HANDLERS.as_slice());
            waiting.bind(priority).bind(version).bind(due).execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }
}

async fn write_events(connection: &mut PgConnection, events: i64) -> anyhow::Result<()> {
    let payload = serde_json::to_string(&OrderPlaced::numbered(7))?;
    sqlx::query(include_str!("crowd_events.sql")).bind(events).bind(payload).execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_has_its_own_crowd_and_an_empty_table_none() {
        let read = |text: &str| Settings::read(&text.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap();
        let kept = read("--jobs 100 --finished 1000");
        assert_eq!(Crowd::of(OURS, &kept).unwrap().finished, 1_000);
        assert_eq!(Crowd::of("empty", &kept).unwrap(), Crowd::default());
        let waiting = read("--jobs 100 --waiting 1000");
        assert_eq!(Crowd::of("empty", &waiting).unwrap(), Crowd::default());
        let of = |side| Crowd::of(side, &waiting).unwrap().waiting.map(|it| (it.jobs, it.priority, it.version));
        assert_eq!([SAME, OTHER, UNKNOWN].map(of), [Some((1_000, 1, 1)), Some((1_000, 0, 1)), Some((1_000, 1, 2))]);
        assert!(Crowd::of(SAME, &kept).is_err());
    }
}
