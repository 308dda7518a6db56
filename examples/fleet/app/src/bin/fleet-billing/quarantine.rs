//! Messages that came and could not be taken.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use outbox_ingest::{InQuarantine, QuarantineId, Quarantined, Redriven, Selection};
use serde_json::{Value, json};

use crate::Own;

/// Most messages of one list.
const MOST: u32 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct Quarantine {
    #[command(flatten)]
    own: Own,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Those that lie there, oldest first.
    List,
    /// One, with its headers and its body.
    Show {
        /// Its id.
        id: String,
    },
    /// Have one go the whole way again, as if it came now.
    Redrive {
        /// Its id.
        id: String,
    },
    /// Throw one away.
    Discard {
        /// Its id.
        id: String,
    },
}

impl Quarantine {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (_, outbox) = self.own.open().await?;
        let quarantine = outbox_ingest::Quarantine::of(&outbox);
        let answer = match &self.what {
            What::List => quarantine.list(&Selection::all(), MOST).await?.iter().map(about).collect(),
            What::Show { id } => shown(&quarantine.get(read(id)?).await?.context("no such message lies there")?),
            What::Redrive { id } => came(&quarantine.redrive(read(id)?).await?),
            What::Discard { id } => json!({ "discarded": quarantine.discard(read(id)?).await? }),
        };
        println!("{answer}");
        Ok(())
    }
}

fn read(id: &str) -> anyhow::Result<QuarantineId> {
    id.parse().with_context(|| format!("`{id}` is no id of a message in quarantine"))
}

fn about(message: &Quarantined) -> Value {
    json!({
        "id": message.id.to_string(),
        "source": message.source,
        "class": message.class,
        "reason": message.reason,
        "event_id": message.event_id.map(|id| id.to_string()),
        "event_type": message.event_type,
        "event_version": message.event_version,
        "times": message.times,
    })
}

fn shown(message: &InQuarantine) -> Value {
    let mut shown = about(&message.about);
    shown["headers"] = json!(message.headers);
    shown["body"] = json!(String::from_utf8_lossy(&message.body));
    shown
}

fn came(redriven: &Redriven) -> Value {
    match redriven {
        Redriven::Stored { event_id, jobs } => {
            json!({ "outcome": "stored", "event_id": event_id.to_string(), "jobs": jobs })
        }
        Redriven::Duplicate { event_id } => json!({ "outcome": "duplicate", "event_id": event_id.to_string() }),
        Redriven::Quarantined(unfit) => {
            json!({ "outcome": "quarantined", "class": unfit.class.as_str(), "reason": unfit.reason })
        }
        _ => json!({ "outcome": "gone" }),
    }
}
