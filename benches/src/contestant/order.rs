//! The messages of all works, and their handlers.

use outbox::prelude::*;

use super::tally::TALLY;

/// An order was accepted. About 200 bytes of JSON.
#[event("order.placed")]
#[derive(Debug)]
pub(crate) struct OrderPlaced {
    #[subject]
    order: u64,
    customer: String,
    currency: String,
    total_cents: u64,
    lines: Vec<Line>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Line {
    article: String,
    units: u32,
    cents: u64,
}

impl OrderPlaced {
    /// Each number gives an order, always the same.
    pub(crate) fn numbered(order: u64) -> Self {
        let line = |place: u64| Line {
            article: format!("article-{:05}", (order * 7 + place * 13) % 100_000),
            units: 1 + u32::try_from(order % 5).unwrap_or(0),
            cents: 100 + (order * 31 + place) % 9_900,
        };
        Self {
            order,
            customer: format!("customer-{:08}", order % 10_000_000),
            currency: "EUR".to_owned(),
            total_cents: 1_000 + order % 100_000,
            lines: vec![line(1), line(2)],
        }
    }

    /// As it stands in the row of its event.
    pub(super) fn subject(&self) -> String {
        self.order.to_string()
    }
}

/// Stored names of the handlers below, in the module that workers are told to run.
pub(super) const HANDLERS: [&str; 5] = ["desk.book", "desk.confirm", "desk.pack", "desk.score", "desk.tell"];
/// Their module.
pub(super) const DESK: &str = "desk";

macro_rules! idle {
    ($($name:ident = $stored:literal),*) => {$(
        #[subscriber(event = "order.placed", name = $stored, idempotent = "it only counts how often it was called")]
        async fn $name(_: OrderPlaced) -> Result<(), std::convert::Infallible> {
            TALLY.count(1);
            Ok(())
        }
    )*};
}

idle!(book = "desk.book", confirm = "desk.confirm", pack = "desk.pack", score = "desk.score", tell = "desk.tell");

/// Money came in.
#[event("account.credited")]
#[derive(Debug)]
pub(crate) struct AccountCredited {
    #[subject]
    pub(super) account: u64,
    pub(super) cents: i64,
    note: String,
}

impl AccountCredited {
    /// Each number gives one, always the same.
    pub(super) fn numbered(account: u64) -> Self {
        let cents = 100 + i64::try_from(account % 9_900).unwrap_or(0);
        Self { account, cents, note: format!("transfer {account:08}, {}", "as agreed; ".repeat(12)) }
    }
}

/// Stored name of its handler, and the module.
pub(super) const BOOK: &str = "till.book";
pub(super) const TILL: &str = "till";

/// The handler's table.
pub(super) const ENTRIES: &str = "create schema app; create table app.entry (
    id bigint generated always as identity primary key, account bigint not null, cents bigint not null)";
/// What it does.
pub(super) const ENTER: &str = "insert into app.entry (account, cents) values ($1, $2)";

#[subscriber(event = "account.credited", name = "till.book")]
async fn enter(credited: AccountCredited, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    let account = credited.account.cast_signed();
    sqlx::query(ENTER).bind(account).bind(credited.cents).execute(&mut *tx).await?;
    TALLY.count(1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_about_two_hundred_bytes_of_json() {
        for number in [0, 7, 99_999, 1_000_000] {
            for json in [
                serde_json::to_string(&OrderPlaced::numbered(number)).unwrap(),
                serde_json::to_string(&AccountCredited::numbered(number)).unwrap(),
            ] {
                assert!((170..=240).contains(&json.len()), "{} bytes: {json}", json.len());
            }
        }
    }

    #[test]
    fn the_names_are_those_of_the_handlers_that_are_linked() {
        let registry = outbox::Registry::linked();
        let mut names: Vec<_> = registry.handlers_of("order.placed").map(|handler| handler.name).collect();
        names.sort_unstable();
        assert_eq!(names, HANDLERS);
        let others: Vec<_> = registry.handlers_of("account.credited").map(|handler| handler.name).collect();
        assert_eq!(others, [BOOK]);
    }
}
