//! Statements with the schema's name filled in.

use std::sync::Arc;

use outbox::Schema;
use sqlx::AssertSqlSafe;

/// A statement, ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Statement(Arc<str>);

impl Statement {
    /// A statement file with `:schema.` replaced, the notation that `psql` understands too.
    fn of(schema: &Schema, text: &str) -> Self {
        Self(text.replace(":schema.", &format!("\"{}\".", schema.as_str())).into())
    }

    /// The text for sqlx. It holds no input but the schema's validated name.
    pub(crate) fn text(&self) -> AssertSqlSafe<Arc<str>> {
        AssertSqlSafe(Arc::clone(&self.0))
    }
}

macro_rules! statements {
    ($($name:ident: $file:literal),* $(,)?) => {
        /// All statements of this crate, for one schema.
        #[derive(Debug)]
        pub(crate) struct Statements {
            $(pub(crate) $name: Statement,)*
        }

        impl Statements {
            pub(crate) fn of(schema: &Schema) -> Self {
                Self { $($name: Statement::of(schema, include_str!($file)),)* }
            }
        }
    };
}

statements! {
    attempts: "log_attempts.sql",
    begin: "deliver_begin.sql",
    change: "endpoint_change.sql",
    create: "endpoint_create.sql",
    delete: "endpoint_delete.sql",
    delivered: "record_delivered.sql",
    deliveries: "log_deliveries.sql",
    disable: "endpoint_disable.sql",
    enable: "endpoint_enable.sql",
    endpoints: "endpoint_list.sql",
    fan_out: "fan_out.sql",
    fan_out_jobs: "fan_out_jobs.sql",
    judge: "judge.sql",
    not_delivered: "record_not_delivered.sql",
    prune: "prune.sql",
    prune_messages: "prune_messages.sql",
    redeliver_lock: "redeliver_lock.sql",
    redeliver_look: "redeliver_look.sql",
    redeliver_job: "redeliver_job.sql",
    redrive: "redeliver_redrive.sql",
    rotate_expire: "rotate_expire.sql",
    rotate_lock: "rotate_lock.sql",
    rotate_new: "rotate_new.sql",
    secrets: "rotate_list.sql",
}
