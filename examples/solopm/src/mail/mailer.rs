//! A client that speaks to a mail server.

use std::time::Duration;

use lettre::message::Mailbox;
use lettre::transport::smtp;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use outbox::{BoxError, Failure, IdempotencyKey};

/// How long the server may take for each answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A mail to one reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The reader's name.
    pub name: String,
    /// The reader's address.
    pub email: String,
    /// Its first line.
    pub subject: String,
    /// Its text.
    pub text: String,
}

/// Sends mail.
#[derive(Debug, Clone)]
pub struct Mailer {
    server: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// Why a mail was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MailError {
    /// That is no server's address.
    #[error("`{0}` is no mail server: say `host:port`")]
    Server(String),
    /// The address is none.
    #[error("the mail has no address that it could be sent to")]
    Address(#[from] lettre::address::AddressError),
    /// The letter cannot be written as a mail.
    #[error("the letter cannot be written as a mail")]
    Letter(#[from] lettre::error::Error),
    /// The server does not take it.
    #[error("the mail server did not take it")]
    Smtp(#[from] smtp::Error),
}

impl MailError {
    /// Whether trying again is of no use.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Smtp(error) => error.is_permanent(),
            _ => true,
        }
    }
}

impl Mailer {
    /// A client of the server at `address`, as `127.0.0.1:2525`. It speaks without TLS: to a relay on the same machine.
    ///
    /// # Errors
    /// When that is no server's address.
    pub fn new(address: &str) -> Result<Self, MailError> {
        let no_server = || MailError::Server(address.to_owned());
        let (host, port) = address.rsplit_once(':').ok_or_else(no_server)?;
        let port = port.parse().map_err(|_| no_server())?;
        let server = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host).port(port);
        let server = server.timeout(Some(PATIENCE)).build();
        Ok(Self { server, from: Mailbox::new(Some("SoloPM".to_owned()), "solopm@example.com".parse()?) })
    }

    /// Sends a letter, and answers when the server has taken it. What is sent again under the same key has the same
    /// `Message-ID`, by which its reader's side knows it.
    ///
    /// # Errors
    /// As a [`Failure`] that ends the job, where trying again is of no use.
    pub async fn send(&self, letter: &Letter, key: &IdempotencyKey) -> Result<(), BoxError> {
        match self.try_to(letter, key).await {
            Err(error) if error.is_permanent() => Err(Failure::quarantine(error).into()),
            sent => Ok(sent?),
        }
    }

    async fn try_to(&self, letter: &Letter, key: &IdempotencyKey) -> Result<(), MailError> {
        let message = Message::builder()
            .message_id(Some(message_id(key)))
            .from(self.from.clone())
            .to(Mailbox::new(Some(letter.name.clone()), letter.email.parse()?))
            .subject(&letter.subject)
            .body(letter.text.clone())?;
        self.server.send(message).await?;
        Ok(())
    }
}

/// A key is `id:handler`; what stands before an `@` has no colon.
fn message_id(key: &IdempotencyKey) -> String {
    format!("<{}@solopm.example.com>", key.as_str().replace(':', "."))
}
