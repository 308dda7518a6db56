//! Rotation: a new secret, and the old one beside it until receivers have changed.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection};

use crate::endpoint::EndpointError;
use crate::id::EndpointId;
use crate::secret::Secret;
use crate::webhooks::Webhooks;

impl Webhooks {
    /// Gives an endpoint a new secret, and signs with the old one too for as long as `overlap` says: each message then carries both
    /// signatures, and a receiver that has either is satisfied. Zero: the old one is known to others, and ends now.
    ///
    /// Of secrets that have not ended yet, the newest four sign.
    ///
    /// # Errors
    /// When there is none with this id, no transaction is open, or the database refuses.
    pub async fn rotate_secret(
        &self,
        connection: &mut PgConnection,
        id: EndpointId,
        overlap: Duration,
    ) -> Result<Secret, EndpointError> {
        if !connection.is_in_transaction() {
            return Err(EndpointError::NoTransaction);
        }
        let statements = self.statements();
        // Who rotates at the same time waits here, and then sees this one's.
        let lock =
            sqlx::query(statements.rotate_lock.text()).bind(id.as_uuid()).fetch_optional(&mut *connection).await?;
        lock.ok_or(EndpointError::NotFound(id))?;
        let expire = sqlx::query(statements.rotate_expire.text()).bind(id.as_uuid()).bind(overlap.as_secs_f64());
        expire.execute(&mut *connection).await?;
        let secret = Secret::generate();
        let new = sqlx::query(statements.rotate_new.text()).bind(id.as_uuid()).bind(secret.expose());
        new.execute(connection).await?;
        Ok(secret)
    }

    /// The secrets that messages to this endpoint are signed with now, the newest first.
    ///
    /// # Errors
    /// When the database does, or holds what is no secret.
    pub async fn secrets(&self, connection: &mut PgConnection, id: EndpointId) -> Result<Vec<Secret>, EndpointError> {
        let list = sqlx::query_scalar(self.statements().secrets.text()).bind(id.as_uuid());
        let stored: Vec<String> = list.fetch_all(connection).await?;
        let read = stored.iter().map(|text| text.parse().map_err(|error| sqlx::Error::Decode(Box::new(error))));
        Ok(read.collect::<Result<_, _>>()?)
    }
}
