//! As much of PostgreSQL's protocol as it takes to tell messages apart.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncRead, AsyncReadExt as _};

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// One message: a byte that says what it is, four of length, a body.
pub(super) struct Message(Vec<u8>);

impl Message {
    /// The next one.
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> Result<Self> {
        let mut bytes = vec![0; 5];
        from.read_exact(&mut bytes).await?;
        let end = length(&bytes[1..])? + 1;
        bytes.resize(end, 0);
        from.read_exact(&mut bytes[5..]).await?;
        Ok(Self(bytes))
    }

    /// What it is.
    pub(super) fn kind(&self) -> u8 {
        self.0[0]
    }

    /// All of it, as it travels.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The texts at the beginning of the body, each ended by a zero.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.0[5..].split(|byte| *byte == 0)
    }

    /// Of the server: it waits for the next query.
    pub(super) fn is_ready(&self) -> bool {
        self.kind() == b'Z'
    }

    /// Of the server: no transaction is open.
    pub(super) fn says_idle(&self) -> bool {
        self.is_ready() && self.0.get(5) == Some(&b'I')
    }

    /// Of the server: a COPY begins, so the client has to speak before the answer is complete.
    pub(super) fn begins_copy(&self) -> bool {
        matches!(self.kind(), b'G' | b'W')
    }
}

/// What a client says first. It has no byte that says what it is.
pub(super) enum Opening {
    /// A session, of this application.
    Session {
        /// As it travels.
        bytes: Vec<u8>,
        /// `application_name`, empty when the client gave none.
        application: String,
    },
    /// Another session's statement is to end.
    Cancel(Vec<u8>),
    /// Whether the session can be encrypted.
    Encryption,
}

impl Opening {
    /// The next one.
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> Result<Self> {
        let mut bytes = vec![0; 4];
        from.read_exact(&mut bytes).await?;
        let end = length(&bytes)?;
        // The longest that PostgreSQL takes.
        if !(8..=10_000).contains(&end) {
            return Err(malformed());
        }
        bytes.resize(end, 0);
        from.read_exact(&mut bytes[4..]).await?;
        Ok(match u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) {
            SSL_REQUEST | GSS_REQUEST => Self::Encryption,
            CANCEL_REQUEST => Self::Cancel(bytes),
            _ => Self::Session { application: application(&bytes[8..]), bytes },
        })
    }
}

fn application(parameters: &[u8]) -> String {
    let mut texts = parameters.split(|byte| *byte == 0);
    while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
        if name == b"application_name" {
            return String::from_utf8_lossy(value).into_owned();
        }
    }
    String::new()
}

fn length(bytes: &[u8]) -> Result<usize> {
    let length = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    if length < 4 { Err(malformed()) } else { Ok(length) }
}

fn malformed() -> Error {
    Error::new(ErrorKind::InvalidData, "not PostgreSQL's protocol")
}
