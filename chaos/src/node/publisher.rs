//! A publisher: transactions that publish and enqueue, at a steady rate; some are rolled back, and those whose fate is not known
//! are repeated under the same key.

use std::time::Duration;

use outbox::PublishError;
use outbox::prelude::*;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Opened, READY};
use crate::clock::Wall;
use crate::ledger::{Entry, Intended};
use crate::load::{Aborts, Blocks, Fate, Hopeless, Lasts, Panics, ParcelSent, Quarantined, Snoozes, TimesOut};
use crate::seeded::Seeded;

/// Transactions at once.
const LINES: u64 = 4;
/// Longest try of a transaction: an application's own limit, without which silence would hold it for ever.
const LIMIT: Duration = Duration::from_secs(4);
/// Behind a try whose fate is not known.
const PAUSE: Duration = Duration::from_millis(300);
/// How far the rate is made up for after an outage.
const BEHIND: Duration = Duration::from_secs(20);

/// Publishes until it is asked to end; what is under way then is brought to its end, if that is soon.
#[allow(clippy::print_stdout, reason = "the conductor waits for this line")]
pub(super) async fn run(opened: &Opened, rate: f64) -> anyhow::Result<()> {
    let outbox = opened.outbox().await?;
    println!("{READY}");
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let every = Duration::from_secs_f64(f64::from(u32::try_from(LINES)?) / rate.max(0.001));
    let lines = (0..LINES).map(|number| {
        let line = Line {
            outbox: outbox.clone(),
            ledger: opened.ledger.clone(),
            name: format!("{}-{number}", opened.node.name),
            seeded: Seeded::new(opened.node.seed, &format!("{}-{number}", opened.node.name)),
        };
        tokio::spawn(line.run(every, stopped.clone()))
    });
    let lines: Vec<_> = lines.collect();
    outbox::shutdown_signal().await;
    stop.send_replace(true);
    for line in lines {
        line.await?;
    }
    Ok(())
}

/// One transaction after the other.
struct Line {
    outbox: Outbox,
    ledger: crate::ledger::Ledger,
    name: String,
    seeded: Seeded,
}

/// What a transaction does.
struct Order {
    tx: String,
    sent: Vec<ParcelSent>,
    trouble: Option<Trouble>,
    delay: Duration,
    /// Whether it publishes under a key, so that it can be repeated.
    keyed: bool,
    /// Whether it is to be rolled back when everything is written.
    regretted: bool,
}

enum Trouble {
    Panics(Panics),
    TimesOut(TimesOut),
    Blocks(Blocks),
    Snoozes(Snoozes),
    Aborts(Aborts),
    Lasts(Lasts),
    Hopeless(Hopeless),
    Quarantined(Quarantined),
}

/// What a try came to.
enum Tried {
    Committed,
    RolledBack,
    /// The commit was sent, and how it ended is not known.
    Unknown,
}

impl Line {
    async fn run(mut self, every: Duration, mut stopped: tokio::sync::watch::Receiver<bool>) {
        let mut due = Instant::now();
        for number in 0_u64.. {
            due = (due + every).max(Instant::now().checked_sub(BEHIND).unwrap_or(due));
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => return,
                () = sleep_until(due) => {}
            }
            let order = order(&mut self.seeded, format!("{}-{number}", self.name));
            self.ledger.say(Entry::Meant { tx: order.tx.clone(), messages: order.messages() });
            self.carry_out(&order, &mut stopped).await;
        }
    }

    /// Tries until it is known what became of it, or, without a key, once.
    async fn carry_out(&self, order: &Order, stopped: &mut tokio::sync::watch::Receiver<bool>) {
        let mut unknown = false;
        loop {
            let mut sent = false;
            let tried = timeout(LIMIT, self.attempt(order, &mut sent)).await;
            let tried = tried.unwrap_or(if sent { Tried::Unknown } else { Tried::RolledBack });
            match tried {
                Tried::Committed => return self.ledger.say(Entry::Committed { tx: order.tx.clone() }),
                // An earlier try may have been committed all the same.
                Tried::RolledBack if !unknown && (order.regretted || !order.keyed || *stopped.borrow()) => {
                    return self.ledger.say(Entry::RolledBack { tx: order.tx.clone() });
                }
                Tried::Unknown if !order.keyed => return,
                Tried::Unknown => unknown = true,
                Tried::RolledBack => {}
            }
            tokio::select! {
                _ = stopped.wait_for(|stop| *stop) => return,
                () = sleep(PAUSE) => {}
            }
        }
    }

    /// Writes everything and commits. `sent` is set before the commit is.
    async fn attempt(&self, order: &Order, sent: &mut bool) -> Tried {
        let Ok(mut tx) = self.outbox.begin().await else { return Tried::RolledBack };
        match self.write(order, &mut tx).await {
            Ok(false) => {}
            // An earlier try of this transaction was committed, all of it.
            Ok(true) => return Tried::Committed,
            Err(error) => {
                tracing::info!(%error, tx = order.tx, "a transaction could not be written");
                return Tried::RolledBack;
            }
        }
        if order.regretted {
            let _ = tx.rollback().await;
            return Tried::RolledBack;
        }
        self.ledger.say(Entry::Committing { tx: order.tx.clone() });
        *sent = true;
        match tx.commit().await {
            Ok(()) => Tried::Committed,
            Err(error) => {
                tracing::info!(%error, tx = order.tx, "it is not known whether a transaction was committed");
                Tried::Unknown
            }
        }
    }

    /// Answers whether it was there already.
    async fn write(&self, order: &Order, tx: &mut sqlx::PgConnection) -> Result<bool, PublishError> {
        let outbox = &self.outbox;
        match &order.sent[..] {
            [] => {}
            [one] if order.keyed => {
                if outbox.publish(tx, one).key(&one.label).delay(order.delay).await?.duplicate {
                    return Ok(true);
                }
            }
            [one] => drop(outbox.publish(tx, one).delay(order.delay).await?),
            many => {
                let keys = many.iter().map(|one| &one.label).filter(|_| order.keyed);
                if outbox.publish_all(tx, many).keys(keys).delay(order.delay).await?.iter().any(|one| one.duplicate) {
                    return Ok(true);
                }
            }
        }
        if let Some(trouble) = &order.trouble
            && self.enqueue(trouble, order, tx).await?
        {
            return Ok(true);
        }
        let business = sqlx::query("insert into chaos.business (tx) values ($1)").bind(&order.tx).execute(tx).await;
        business.map(|_| false).map_err(|source| PublishError::Database { name: "business", source })
    }

    async fn enqueue(
        &self,
        trouble: &Trouble,
        order: &Order,
        tx: &mut sqlx::PgConnection,
    ) -> Result<bool, PublishError> {
        let outbox = &self.outbox;
        let enqueuing = match trouble {
            Trouble::Panics(it) => outbox.enqueue(tx, it),
            Trouble::TimesOut(it) => outbox.enqueue(tx, it),
            Trouble::Blocks(it) => outbox.enqueue(tx, it),
            Trouble::Snoozes(it) => outbox.enqueue(tx, it),
            Trouble::Aborts(it) => outbox.enqueue(tx, it),
            Trouble::Lasts(it) => outbox.enqueue(tx, it),
            Trouble::Hopeless(it) => outbox.enqueue(tx, it),
            Trouble::Quarantined(it) => outbox.enqueue(tx, it),
        };
        let enqueuing = if order.keyed { enqueuing.key(&order.tx) } else { enqueuing };
        Ok(enqueuing.delay(order.delay).await?.duplicate)
    }
}

impl Order {
    fn messages(&self) -> Vec<Intended> {
        let sent = self.sent.iter().map(|one| Intended { kind: "parcel.sent".to_owned(), label: one.label.clone() });
        sent.chain(self.trouble.as_ref().map(Trouble::intended)).collect()
    }
}

impl Trouble {
    fn intended(&self) -> Intended {
        let (kind, label) = match self {
            Self::Panics(it) => ("trouble.panics", &it.label),
            Self::TimesOut(it) => ("trouble.times_out", &it.label),
            Self::Blocks(it) => ("trouble.blocks", &it.label),
            Self::Snoozes(it) => ("trouble.snoozes", &it.label),
            Self::Aborts(it) => ("trouble.aborts", &it.label),
            Self::Lasts(it) => ("trouble.lasts", &it.label),
            Self::Hopeless(it) => ("trouble.hopeless", &it.label),
            Self::Quarantined(it) => ("trouble.quarantined", &it.label),
        };
        Intended { kind: kind.to_owned(), label: label.clone() }
    }
}

/// Draws a transaction: mostly one event, sometimes many, sometimes a job that makes trouble, of which each kind has its share.
fn order(seeded: &mut Seeded, tx: String) -> Order {
    let events = match seeded.below(100) {
        0..80 => 1,
        80..92 => 2 + seeded.below(3),
        _ => 0,
    };
    let sent = (0..events).map(|number| ParcelSent {
        label: format!("{tx}.{number}"),
        fate: Fate { fails: if seeded.percent(10) { 1 + seeded.below32(2) } else { 0 }, takes: seeded.below(8) },
    });
    let sent: Vec<_> = sent.collect();
    let trouble = (sent.is_empty() || seeded.percent(10)).then(|| trouble(seeded, format!("{tx}.t")));
    let delay = if seeded.percent(10) { Duration::from_millis(seeded.below(3_000)) } else { Duration::ZERO };
    Order { tx, sent, trouble, delay, keyed: seeded.percent(85), regretted: seeded.percent(4) }
}

fn trouble(seeded: &mut Seeded, label: String) -> Trouble {
    let fate = Fate { fails: 1 + seeded.below32(2), takes: 0 };
    match seeded.below(1_000) {
        0..200 => Trouble::Panics(Panics { label, fate }),
        200..400 => Trouble::TimesOut(TimesOut { label, fate }),
        400..420 => Trouble::Blocks(Blocks { label, fate: Fate { takes: 50 + seeded.below(3_500), ..fate } }),
        420..600 => {
            let until = Wall(Wall::now().0 + i64::try_from(seeded.below(2_000_000)).unwrap_or(0));
            Trouble::Snoozes(Snoozes { label, until })
        }
        600..603 => Trouble::Aborts(Aborts { label }),
        603..700 => Trouble::Lasts(Lasts { label, fate: Fate { takes: 500 + seeded.below(5_000), ..fate } }),
        700..900 => Trouble::Hopeless(Hopeless { label }),
        _ => Trouble::Quarantined(Quarantined { label }),
    }
}
