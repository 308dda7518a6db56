//! declare of schedules: those of this binary, into the table that says what is due when.

use chrono::{DateTime, Utc};
use outbox_core::timetable::Timetable;
use outbox_core::{Schedule, SubscriberDescriptor};
use sqlx::{PgConnection, Row as _};

use super::Statements;
use crate::fan_out::max_attempts;

/// Answers the schedules that were not known.
pub(crate) async fn declare(
    connection: &mut PgConnection,
    statements: &Statements,
    own: &[(&'static SubscriberDescriptor, Schedule)],
    declared_by: &str,
) -> Result<Vec<String>, sqlx::Error> {
    let now = sqlx::query("select statement_timestamp()").fetch_one(&mut *connection).await?.try_get(0)?;
    let aliases: Vec<_> = own.iter().flat_map(|(one, _)| one.aliases.iter().map(|alias| (one.name, *alias))).collect();
    let each = |of: &dyn Fn(&Schedule) -> String| own.iter().map(|(_, schedule)| of(schedule)).collect::<Vec<_>>();
    let rows = sqlx::query(statements.schedule_declare.text())
        .bind(own.iter().map(|(one, _)| one.name).collect::<Vec<_>>())
        .bind(each(&|schedule| schedule.cadence.text()))
        .bind(each(&|schedule| schedule.cadence.zone().to_owned()))
        .bind(each(&|schedule| schedule.catch_up.stored().0.to_owned()))
        .bind(own.iter().map(|(_, one)| one.catch_up.stored().1.cast_signed()).collect::<Vec<_>>())
        .bind(each(&|schedule| schedule.overlap.as_str().to_owned()))
        .bind(own.iter().map(|(one, _)| max_attempts(one)).collect::<Vec<_>>())
        .bind(own.iter().map(|(one, _)| i16::from(one.settings.priority)).collect::<Vec<_>>())
        .bind(own.iter().map(|(_, schedule)| first(schedule, now)).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(name, _)| *name).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, alias)| *alias).collect::<Vec<_>>())
        .bind(declared_by)
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// The first tick behind `now`. The compiler has read the texts, so there is one.
fn first(schedule: &Schedule, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    Timetable::stored(&schedule.cadence.text(), schedule.cadence.zone()).ok()?.next_after(now)
}
