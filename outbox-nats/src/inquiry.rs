//! Why there is no connection: the client tells of it as `IO error`, whatever it is.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{ClientError, ConnectErrorKind, ConnectOptions};
use outbox_relay::{Link, what_to_do_about_certificates};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::servers;
use crate::telling::Telling;

/// How often it is asked for.
const EVERY: Duration = Duration::from_secs(5);
/// How long one attempt may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Whose connection it is, as its log lines say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Destination,
    Source,
}

/// Connects once, apart from the client that goes on trying, for the reason that the attempt ends with.
pub(crate) struct Inquiry {
    of: Of,
    name: String,
    servers: String,
    options: ConnectOptions,
    link: Link,
    last: Option<(Instant, AbortHandle)>,
    telling: Arc<Mutex<Telling>>,
}

impl Inquiry {
    /// `options` as they are without a callback, which would hear of this attempt too.
    pub(crate) fn new(of: Of, name: String, servers: String, options: ConnectOptions, link: Link) -> Self {
        Self { of, name, servers, options, link, last: None, telling: Arc::default() }
    }

    /// Whether it is an error that says nothing, and whose reason the link will be told.
    pub(crate) fn asks_about(&mut self, error: &ClientError) -> bool {
        let said = error.to_string();
        let asks = !self.link.is_up() && (said.ends_with("IO error") || said.ends_with("TLS error"));
        if asks {
            self.ask();
        }
        asks
    }

    /// The connection stands: the next error is a new one.
    pub(crate) fn ended(&self) {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner).ended();
    }

    /// Asks, unless it has a moment ago.
    fn ask(&mut self) {
        if self.last.as_ref().is_some_and(|(asked, _)| asked.elapsed() < EVERY) {
            return;
        }
        let (of, name, link, options) = (self.of, self.name.clone(), self.link.clone(), self.options.clone());
        let (addresses, telling) = (servers::shown(&self.servers), Arc::clone(&self.telling));
        let servers: Vec<String> = servers::each(&self.servers).into_iter().map(str::to_owned).collect();
        let asking = tokio::spawn(async move {
            if let Ok(Err(error)) = timeout(LIMIT, options.connect(servers)).await
                && !link.is_up()
                // Another one's source may quote the URL, and the URL hold a password.
                && matches!(error.kind(), ConnectErrorKind::Io | ConnectErrorKind::Tls)
            {
                let error = what_to_do_about_certificates(error.to_string());
                // No panic can leave it half written.
                if telling.lock().unwrap_or_else(PoisonError::into_inner).is_due(&error, Instant::now()) {
                    match of {
                        Of::Destination => {
                            tracing::warn!(
                                destination = name,
                                servers = addresses,
                                error,
                                "there is no connection to NATS"
                            );
                        }
                        Of::Source => {
                            tracing::warn!(source = name, servers = addresses, error, "there is no connection to NATS");
                        }
                    }
                }
                link.heard(format!("no connection to {addresses}: {error}"));
            }
        });
        self.last = Some((Instant::now(), asking.abort_handle()));
    }
}

impl Drop for Inquiry {
    fn drop(&mut self) {
        if let Some((_, asking)) = &self.last {
            asking.abort();
        }
    }
}

/// Without addresses and options, which may hold a password.
impl fmt::Debug for Inquiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inquiry").field("name", &self.name).finish_non_exhaustive()
    }
}
