//! **call**: one request, and what comes back of it.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::connect::{ConnectError, Connector, Stream};
use crate::retry_after::retry_after;
use crate::signature::{ID, SIGNATURE, TIMESTAMP};
use crate::target::Target;

const AGENT: &str = concat!("outbox-webhooks/", env!("CARGO_PKG_VERSION"));
/// Most bytes of an answer's head.
const HEAD_LIMIT: usize = 64 * 1024;
/// How long the body of an answer is waited for.
const BODY_LIMIT: Duration = Duration::from_secs(2);
/// Longest place of a redirect that is repeated in the log.
const PLACE_LIMIT: usize = 200;

/// What is sent.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) timestamp: i64,
    pub(crate) signature: String,
    pub(crate) body: String,
}

/// What the receiver said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    /// Where a redirect would have led.
    pub(crate) location: Option<String>,
    /// The beginning of its body, as text that PostgreSQL takes.
    pub(crate) excerpt: String,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.status == StatusCode::GONE.as_u16()
    }

    /// Why it is no success, in words for whoever reads the log.
    pub(crate) fn complaint(&self) -> String {
        let status = self.status;
        match &self.location {
            Some(place) if (300..400).contains(&status) => {
                format!(
                    "the receiver answered {status}, a redirect to {place}: redirects are not followed, change the endpoint's URL"
                )
            }
            _ if (300..400).contains(&status) => {
                format!("the receiver answered {status}: redirects are not followed, change the endpoint's URL")
            }
            _ => format!("the receiver answered {status}"),
        }
    }
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("no answer within {0:?}")]
    Deadline(Duration),
    #[error("the connection failed before there was an answer: {0}")]
    Http(#[from] hyper::Error),
    #[error("a header cannot be written: {0}")]
    Request(#[from] hyper::http::Error),
}

/// Posts the message, once: `limit` until there is a status, then a moment for no more than `excerpt` bytes of the body.
///
/// Whatever is dropped or given up here closes the connection.
pub(crate) async fn post(
    connector: &Connector,
    target: &Target,
    message: Message,
    limit: Duration,
    excerpt: usize,
) -> Result<Answer, CallError> {
    // Dropped with this future, it ends the task that drives the connection, and with it the connection.
    let mut driver = JoinSet::new();
    let call = async {
        let stream = connector.connect(target).await?;
        send(stream, request(target, message)?, &mut driver).await
    };
    let (head, body) = timeout(limit, call).await.unwrap_or(Err(CallError::Deadline(limit)))?.into_parts();
    let text = |name| head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    Ok(Answer {
        status: head.status.as_u16(),
        retry_after: text(header::RETRY_AFTER).and_then(|value| retry_after(value, SystemTime::now())),
        location: text(header::LOCATION).map(|place| place.chars().take(PLACE_LIMIT).collect()),
        // The status is there and says all that counts: what becomes of the body changes nothing of it.
        excerpt: beginning(body, excerpt).await,
    })
}

fn request(target: &Target, message: Message) -> Result<Request<Full<Bytes>>, CallError> {
    let request = Request::post(target.path())
        .header(header::HOST, target.authority())
        .header(header::USER_AGENT, AGENT)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .header(ID, message.id)
        .header(TIMESTAMP, message.timestamp)
        .header(SIGNATURE, message.signature);
    Ok(request.body(Full::new(Bytes::from(message.body)))?)
}

async fn send(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    driver: &mut JoinSet<Result<(), hyper::Error>>,
) -> Result<Response<Incoming>, CallError> {
    let mut connection = http1::Builder::new();
    let (mut sender, connection) = connection.max_buf_size(HEAD_LIMIT).handshake(TokioIo::new(stream)).await?;
    driver.spawn(connection);
    Ok(sender.send_request(request).await?)
}

/// What came of the body before it ended, broke off, took too long, or was enough.
async fn beginning(mut body: Incoming, most: usize) -> String {
    let mut read = Vec::new();
    let _ = timeout(BODY_LIMIT, async {
        while read.len() < most {
            match body.frame().await {
                Some(Ok(frame)) => {
                    let data = frame.into_data().unwrap_or_default();
                    read.extend_from_slice(&data[..data.len().min(most - read.len())]);
                }
                Some(Err(_)) | None => break,
            }
        }
    })
    .await;
    printable(&read)
}

/// Text without what a terminal or PostgreSQL would take amiss.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}
