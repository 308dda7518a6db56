//! The transaction of a delivery, as a handler's parameter.

use std::fmt;
use std::ops::{Deref, DerefMut};

use outbox_core::{BoxError, Delivery, FromDelivery, Guard};
use sqlx::{PgConnection, Postgres, Transaction};

/// The open transaction of this execution: whatever the handler writes through it commits together with the job's
/// completion, or not at all. That is what makes the effect exactly once.
///
/// It dereferences to [`PgConnection`], so `&mut *tx` goes wherever sqlx takes an executor and `&mut tx` wherever a
/// connection is taken. Do not commit or roll back through it by raw SQL: the job then ends quarantined.
///
/// In a unit test, call the handler with `Tx::from(&mut transaction)`.
pub struct Tx<'a>(&'a mut PgConnection);

impl Deref for Tx<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.0
    }
}

impl DerefMut for Tx<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.0
    }
}

impl<'a> From<&'a mut PgConnection> for Tx<'a> {
    fn from(connection: &'a mut PgConnection) -> Self {
        Self(connection)
    }
}

impl<'a> From<&'a mut Transaction<'_, Postgres>> for Tx<'a> {
    fn from(transaction: &'a mut Transaction<'_, Postgres>) -> Self {
        Self(transaction)
    }
}

impl<'a> FromDelivery<'a> for Tx<'a> {
    const GUARD: Guard = Guard::Transaction;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        delivery.take_connection::<PgConnection>().map(Self).ok_or_else(|| {
            "this delivery has no transaction to give: an extractor that takes `Tx` must pass on its `GUARD`".into()
        })
    }
}

impl fmt::Debug for Tx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tx")
    }
}
