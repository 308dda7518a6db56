//! From a pool and a few settings to [`Webhooks`].

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use outbox::{BoxError, Envelope, InvalidSchema, Schema};
use sqlx::PgPool;

use crate::connect::{CertificateError, Connector, Resolve, SystemResolver};
use crate::route::{Outgoing, Route, is_pattern};
use crate::schema::Statements;
use crate::target::Rules;
use crate::turns::Turns;
use crate::webhooks::{Inner, Patience, Webhooks};

/// The schema of an outbox unless said otherwise.
const DEFAULT_SCHEMA: &str = "system";
/// Longest call: a delivery's job has a minute, and needs some of it for its records.
const LONGEST_CALL: Duration = Duration::from_secs(30);
/// Least time that deliveries are kept: behind it nothing knows that an event has been sent.
const LEAST_KEPT: Duration = Duration::from_hours(24);
/// Most of an answer that is kept in the log.
const LARGEST_ANSWER: usize = 16 * 1024;

/// Why there are no webhooks by these settings.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The schema is no plain name.
    #[error(transparent)]
    Schema(#[from] InvalidSchema),
    /// A time is not within its bounds.
    #[error("`.{option}({given:?})`: {bounds}")]
    Time {
        /// Which setting.
        option: &'static str,
        /// What it was given.
        given: Duration,
        /// What it may be.
        bounds: &'static str,
    },
    /// An event's name is none.
    #[error("`.exclude(..)`: `{0}` is neither an event's name, as `project.exported`, nor a pattern, as `auth.*`")]
    Exclude(String),
    /// So much of an answer is not kept.
    #[error("`.keep_answer({0})`: at most 16,384 bytes of an answer are kept")]
    Answer(usize),
    /// No endpoint could ever fail.
    #[error("`.disable_after_dead_deliveries(0)` would disable endpoints before anything has failed: say 1 or more")]
    NoPatience,
    /// A certificate cannot be read.
    #[error("`.root_certificate(..)`")]
    Certificate(#[from] CertificateError),
}

/// Describes [`Webhooks`]. Every setting has a default that works, and the defaults are the safe ones.
#[must_use = "nothing is built until `build()`"]
pub struct WebhooksBuilder {
    pool: PgPool,
    schema: String,
    excluded: BTreeSet<String>,
    route: Box<Route>,
    rules: Rules,
    resolver: Arc<dyn Resolve>,
    roots: Vec<Vec<u8>>,
    connect_timeout: Duration,
    timeout: Duration,
    answer_limit: usize,
    patience: Patience,
    keep: Duration,
}

impl WebhooksBuilder {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self {
            pool,
            schema: DEFAULT_SCHEMA.to_owned(),
            excluded: BTreeSet::new(),
            route: Box::new(|event| Ok(Outgoing::standard(event)?)),
            rules: Rules::default(),
            resolver: Arc::new(SystemResolver),
            roots: Vec::new(),
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(15),
            answer_limit: 1024,
            patience: Patience { failing_for: Duration::from_hours(5 * 24), dead_deliveries: 100 },
            keep: Duration::from_hours(90 * 24),
        }
    }

    /// The schema of the outbox, which its own tables live in too. Default: `system`.
    pub fn schema(self, schema: impl Into<String>) -> Self {
        Self { schema: schema.into(), ..self }
    }

    /// Events that no endpoint gets, also those that want all: names, or patterns as `auth.*`. May be said more than once.
    pub fn exclude<N: Into<String>>(mut self, events: impl IntoIterator<Item = N>) -> Self {
        self.excluded.extend(events.into_iter().map(Into::into));
        self
    }

    /// What is sent for an event and to whose endpoints; `None`: nothing. Default: [`Outgoing::standard`]. It is called once an event,
    /// and its answer is stored. An error ends the fan-out as failed, reason quarantined, to be redriven when the cause is gone.
    pub fn route(
        self,
        route: impl Fn(&Envelope) -> Result<Option<Outgoing>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self { route: Box::new(route), ..self }
    }

    /// Also plain `http:`. What is sent can then be read on the way. Default: `false`.
    pub fn allow_http(mut self, allow: bool) -> Self {
        self.rules.http = allow;
        self
    }

    /// **For development and tests.** Also to loopback, private and link-local addresses, and the clouds' metadata services. Whoever
    /// may enter a URL can then make this process call whatever it reaches. Default: `false`.
    pub fn allow_private_networks(mut self, allow: bool) -> Self {
        self.rules.private_networks = allow;
        self
    }

    /// Looks names up in another way than the operating system. What it answers is checked as any answer is.
    pub fn resolver(self, resolver: impl Resolve) -> Self {
        Self { resolver: Arc::new(resolver), ..self }
    }

    /// Trusts a certificate beside those of Mozilla's list, in DER: the root of a company's own.
    pub fn root_certificate(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.roots.push(der.into());
        self
    }

    /// Longest time for the name, the connection and TLS together, up to 30 s. Default: 5 s.
    pub fn connect_timeout(self, connect_timeout: Duration) -> Self {
        Self { connect_timeout, ..self }
    }

    /// Longest time until the receiver's answer begins, the connection included, up to 30 s. Default: 15 s.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// How many bytes of an answer's body are kept in the log, up to 16,384. No more than that is read. Default: 1,024.
    pub fn keep_answer(self, answer_limit: usize) -> Self {
        Self { answer_limit, ..self }
    }

    /// Disables an endpoint when a delivery to it fails for good and no delivery has succeeded for this long. Default: 5 days.
    pub fn disable_after_failing_for(mut self, failing_for: Duration) -> Self {
        self.patience.failing_for = failing_for;
        self
    }

    /// Disables an endpoint when this many deliveries to it have failed for good, none having succeeded since the first. Default: 100.
    pub fn disable_after_dead_deliveries(mut self, deliveries: u32) -> Self {
        self.patience.dead_deliveries = deliveries;
        self
    }

    /// How long deliveries, their attempts and what was sent are kept, a day at least. Default: 90 days.
    pub fn keep(self, keep: Duration) -> Self {
        Self { keep, ..self }
    }

    /// Checks the settings. The tables are made by [`Webhooks::migrate`].
    ///
    /// # Errors
    /// See [`SettingError`].
    pub fn build(self) -> Result<Webhooks, SettingError> {
        let schema = Schema::new(&self.schema)?;
        self.check()?;
        Ok(Webhooks::from_inner(Inner {
            statements: Statements::of(&schema),
            connector: Connector::new(self.rules, self.resolver, self.roots, self.connect_timeout)?,
            pool: self.pool,
            schema,
            excluded: self.excluded,
            route: self.route,
            rules: self.rules,
            turns: Turns::default(),
            timeout: self.timeout,
            answer_limit: self.answer_limit,
            patience: self.patience,
            keep: self.keep,
        }))
    }

    fn check(&self) -> Result<(), SettingError> {
        let call = |given: Duration| given.is_zero() || given > LONGEST_CALL;
        let times = [
            (
                "connect_timeout",
                self.connect_timeout,
                call(self.connect_timeout),
                "more than nothing, and 30 s at most",
            ),
            ("timeout", self.timeout, call(self.timeout), "more than nothing, and 30 s at most"),
            ("keep", self.keep, self.keep < LEAST_KEPT, "a day at least"),
        ];
        if let Some((option, given, _, bounds)) = times.into_iter().find(|(_, _, is_wrong, _)| *is_wrong) {
            return Err(SettingError::Time { option, given, bounds });
        }
        if let Some(odd) = self.excluded.iter().find(|event| !is_pattern(event)) {
            return Err(SettingError::Exclude(odd.clone()));
        }
        if self.answer_limit > LARGEST_ANSWER {
            return Err(SettingError::Answer(self.answer_limit));
        }
        if self.patience.dead_deliveries == 0 {
            return Err(SettingError::NoPatience);
        }
        Ok(())
    }
}

impl fmt::Debug for WebhooksBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhooksBuilder")
            .field("schema", &self.schema)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
