//! Endpoints: made, changed, disabled, enabled and removed on a connection of the caller's.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use crate::id::EndpointId;
use crate::route::is_pattern;
use crate::secret::Secret;
use crate::target::{Target, UrlError};
use crate::webhooks::Webhooks;

/// A place that events are sent to.
///
/// The path of its URL may be as secret as a password: many receivers know their senders by it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// Its id.
    pub id: EndpointId,
    /// Whose it is: it gets the events of this tenant.
    pub tenant: String,
    /// Where it is.
    pub url: String,
    /// What its owner calls it.
    pub description: String,
    /// Names of events, or patterns as `issue.*`. Empty: all.
    pub event_types: Vec<String>,
    /// Whether it gets no events that an incoming webhook caused.
    pub skip_via_webhook: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// The first failure behind its last success; `None`: there was none.
    pub failing_since: Option<DateTime<Utc>>,
    /// Since when it gets nothing; `None`: it does.
    pub disabled_at: Option<DateTime<Utc>>,
    /// Why it gets nothing.
    pub disabled_reason: Option<String>,
}

/// An endpoint to be made.
#[derive(Debug, Clone)]
#[must_use = "nothing is made until it is given to `Webhooks::create`"]
pub struct NewEndpoint {
    tenant: String,
    url: String,
    description: String,
    event_types: Vec<String>,
    skip_via_webhook: bool,
    secret: Option<Secret>,
}

impl NewEndpoint {
    /// One that gets all events of this tenant.
    pub fn new(tenant: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            tenant: tenant.into(),
            url: url.into(),
            description: String::new(),
            event_types: Vec::new(),
            skip_via_webhook: false,
            secret: None,
        }
    }

    /// What its owner calls it.
    pub fn description(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// Only these events: names, or patterns as `issue.*`. None of them means all.
    pub fn event_types<T: Into<String>>(self, event_types: impl IntoIterator<Item = T>) -> Self {
        Self { event_types: event_types.into_iter().map(Into::into).collect(), ..self }
    }

    /// Whether it gets no events that an incoming webhook caused ([`VIA_WEBHOOK`](crate::VIA_WEBHOOK)). Say `true` where the receiver
    /// answers events by webhooks of its own that cause the same events again. Default: `false`.
    pub fn skip_via_webhook(self, skip_via_webhook: bool) -> Self {
        Self { skip_via_webhook, ..self }
    }

    /// A secret that the receiver has already. Default: a new one.
    pub fn secret(self, secret: Secret) -> Self {
        Self { secret: Some(secret), ..self }
    }
}

/// An endpoint that has just been made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Created {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// What its receiver verifies signatures with.
    pub secret: Secret,
}

/// What is to be changed of an endpoint; what is not said stays.
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is changed until it is given to `Webhooks::change`"]
pub struct EndpointChange {
    url: Option<String>,
    description: Option<String>,
    event_types: Option<Vec<String>>,
    skip_via_webhook: Option<bool>,
}

impl EndpointChange {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where it is. Deliveries that are on their way go there too.
    pub fn url(self, url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..self }
    }

    /// What its owner calls it.
    pub fn description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }

    /// Which events it gets, from now on; none of them means all.
    pub fn event_types<T: Into<String>>(self, event_types: impl IntoIterator<Item = T>) -> Self {
        Self { event_types: Some(event_types.into_iter().map(Into::into).collect()), ..self }
    }

    /// Whether it gets no events that an incoming webhook caused.
    pub fn skip_via_webhook(self, skip_via_webhook: bool) -> Self {
        Self { skip_via_webhook: Some(skip_via_webhook), ..self }
    }
}

/// Why nothing was done to an endpoint. All but its `Database` leave a transaction usable.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// Nothing can be delivered to the URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// It is no event's name.
    #[error("`{0}` is neither an event's name, as `issue.created`, nor a pattern, as `issue.*`")]
    EventType(String),
    /// A text holds the character NUL, which PostgreSQL does not store.
    #[error("the {0} of an endpoint cannot hold the character NUL")]
    Nul(&'static str),
    /// There is no open transaction, and what is written belongs together.
    #[error("this takes a transaction: begin one, for instance by `outbox.begin()`")]
    NoTransaction,
    /// There is none with this id.
    #[error("there is no endpoint {0}")]
    NotFound(EndpointId),
    /// The database refused.
    #[error("{}", refused(.0))]
    Database(#[from] sqlx::Error),
}

/// What is said of a refusal, beside its source: the most frequent one has a remedy.
pub(crate) fn refused(error: &sqlx::Error) -> &'static str {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    if code.as_deref() == Some("42P01") {
        "the tables of webhooks are not there, or older than this binary: run `webhooks.migrate()` first"
    } else {
        "the database refused"
    }
}

impl Webhooks {
    /// Makes an endpoint. It gets the events that are fanned out from the commit on.
    ///
    /// # Errors
    /// See [`EndpointError`].
    pub async fn create(&self, connection: &mut PgConnection, new: NewEndpoint) -> Result<Created, EndpointError> {
        let target = Target::parse(&new.url, self.inner().rules)?;
        check_event_types(&new.event_types)?;
        check_text("tenant", &new.tenant)?;
        check_text("description", &new.description)?;
        let secret = new.secret.unwrap_or_else(Secret::generate);
        let row = sqlx::query(self.statements().create.text())
            .bind(new.tenant)
            .bind(target.as_str())
            .bind(new.description)
            .bind(new.event_types)
            .bind(new.skip_via_webhook)
            .bind(secret.expose())
            .fetch_one(connection)
            .await?;
        Ok(Created { endpoint: read(&row)?, secret })
    }

    /// Changes an endpoint.
    ///
    /// # Errors
    /// See [`EndpointError`].
    pub async fn change(
        &self,
        connection: &mut PgConnection,
        id: EndpointId,
        change: EndpointChange,
    ) -> Result<Endpoint, EndpointError> {
        let target = change.url.map(|url| Target::parse(&url, self.inner().rules)).transpose()?;
        check_event_types(change.event_types.as_deref().unwrap_or_default())?;
        check_text("description", change.description.as_deref().unwrap_or_default())?;
        let row = sqlx::query(self.statements().change.text())
            .bind(id.as_uuid())
            .bind(target.as_ref().map(Target::as_str))
            .bind(change.description)
            .bind(change.event_types)
            .bind(change.skip_via_webhook)
            .fetch_optional(connection)
            .await?;
        Ok(read(&row.ok_or(EndpointError::NotFound(id))?)?)
    }

    /// It gets nothing any more; what is on its way to it fails at its next attempt. `reason` is for whoever looks at it.
    ///
    /// # Errors
    /// When there is none with this id, or the database refuses.
    pub async fn disable(
        &self,
        connection: &mut PgConnection,
        id: EndpointId,
        reason: &str,
    ) -> Result<(), EndpointError> {
        check_text("reason", reason)?;
        self.required(connection, id).await?;
        sqlx::query(self.statements().disable.text()).bind(id.as_uuid()).bind(reason).execute(connection).await?;
        Ok(())
    }

    /// It gets what is fanned out from now on, and its failures are forgotten. What happened meanwhile is not sent; deliveries that
    /// failed can be sent by [`redeliver`](Self::redeliver).
    ///
    /// # Errors
    /// When there is none with this id, or the database refuses.
    pub async fn enable(&self, connection: &mut PgConnection, id: EndpointId) -> Result<(), EndpointError> {
        let done = sqlx::query(self.statements().enable.text()).bind(id.as_uuid()).execute(connection).await?;
        if done.rows_affected() == 1 { Ok(()) } else { Err(EndpointError::NotFound(id)) }
    }

    /// Removes it, with its secrets and its log.
    ///
    /// # Errors
    /// When there is none with this id, or the database refuses.
    pub async fn delete(&self, connection: &mut PgConnection, id: EndpointId) -> Result<(), EndpointError> {
        let done = sqlx::query(self.statements().delete.text()).bind(id.as_uuid()).execute(connection).await?;
        if done.rows_affected() == 1 { Ok(()) } else { Err(EndpointError::NotFound(id)) }
    }

    /// The endpoint with this id, if there is one; whoever asks for it may have to be its tenant.
    ///
    /// # Errors
    /// When the database does.
    pub async fn endpoint(
        &self,
        connection: &mut PgConnection,
        id: EndpointId,
    ) -> Result<Option<Endpoint>, EndpointError> {
        Ok(self.listed(connection, Some(id), "").await?.pop())
    }

    /// All endpoints of a tenant, the oldest first.
    ///
    /// # Errors
    /// When the database does.
    pub async fn endpoints(&self, connection: &mut PgConnection, tenant: &str) -> Result<Vec<Endpoint>, EndpointError> {
        self.listed(connection, None, tenant).await
    }

    pub(crate) async fn required(
        &self,
        connection: &mut PgConnection,
        id: EndpointId,
    ) -> Result<Endpoint, EndpointError> {
        self.endpoint(connection, id).await?.ok_or(EndpointError::NotFound(id))
    }

    async fn listed(
        &self,
        connection: &mut PgConnection,
        id: Option<EndpointId>,
        tenant: &str,
    ) -> Result<Vec<Endpoint>, EndpointError> {
        let list = sqlx::query(self.statements().endpoints.text()).bind(id.map(EndpointId::as_uuid)).bind(tenant);
        let rows = list.fetch_all(connection).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }
}

fn check_event_types(event_types: &[String]) -> Result<(), EndpointError> {
    match event_types.iter().find(|event| !is_pattern(event)) {
        Some(odd) => Err(EndpointError::EventType(odd.chars().take(80).collect())),
        None => Ok(()),
    }
}

fn check_text(what: &'static str, text: &str) -> Result<(), EndpointError> {
    if text.contains('\0') { Err(EndpointError::Nul(what)) } else { Ok(()) }
}

fn read(row: &PgRow) -> Result<Endpoint, sqlx::Error> {
    Ok(Endpoint {
        id: row.try_get::<Uuid, _>("id")?.into(),
        tenant: row.try_get("tenant")?,
        url: row.try_get("url")?,
        description: row.try_get("description")?,
        event_types: row.try_get("event_types")?,
        skip_via_webhook: row.try_get("skip_via_webhook")?,
        created_at: row.try_get("created_at")?,
        failing_since: row.try_get("failing_since")?,
        disabled_at: row.try_get("disabled_at")?,
        disabled_reason: row.try_get("disabled_reason")?,
    })
}
