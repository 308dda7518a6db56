//! As much of PostgreSQL's protocol as it takes to tell messages apart.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncRead, AsyncReadExt as _};

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
/// Longest body of a message, as PostgreSQL has it.
const LONGEST: u64 = 1 << 30;

/// One message: a byte that says what it is, four of length, a body.
pub(super) struct Message(Vec<u8>);

impl Message {
    /// The next one.
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> Result<Self> {
        let mut bytes = vec![0; 5];
        from.read_exact(&mut bytes).await?;
        let body = length(&bytes[1..])? - 4;
        if body > LONGEST {
            return Err(malformed());
        }
        // As it comes, not as it is announced: a length that is none must not cost its memory.
        from.take(body).read_to_end(&mut bytes).await?;
        if (bytes.len() - 5) as u64 == body { Ok(Self(bytes)) } else { Err(ErrorKind::UnexpectedEof.into()) }
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
        let end = usize::try_from(length(&bytes)?).map_err(|_| malformed())?;
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

fn length(bytes: &[u8]) -> Result<u64> {
    let length = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    if length < 4 { Err(malformed()) } else { Ok(length.into()) }
}

fn malformed() -> Error {
    Error::new(ErrorKind::InvalidData, "not PostgreSQL's protocol")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Reads messages until one is none, from bytes that arrive in parts of these lengths, and answers all that was read.
    fn read_in_parts(bytes: &[u8], parts: &[usize]) -> Vec<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (mut far, mut near) = tokio::io::duplex(7);
            let write = async {
                let mut rest = bytes;
                for part in parts.iter().cycle().take(bytes.len()) {
                    let (now, later) = rest.split_at((*part).min(rest.len()));
                    // The reader may have given up.
                    let _ = far.write_all(now).await;
                    rest = later;
                }
                drop(far);
            };
            let read = async {
                let mut read = Vec::new();
                while let Ok(message) = Message::read(&mut near).await {
                    read.push(message.bytes().to_vec());
                    let _ = (message.kind(), message.texts().count(), message.says_idle(), message.begins_copy());
                }
                drop(near);
                read
            };
            tokio::join!(write, read).1
        })
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).expect("a short body");
        [&[kind], &length.to_be_bytes()[..], body].concat()
    }

    proptest! {
        /// Whole messages pass unchanged, in whatever parts they arrive, and what is cut off at the end is none.
        #[test]
        fn messages_pass_unchanged(bodies in vec((any::<u8>(), vec(any::<u8>(), 0..40)), 0..6), parts in vec(1..9_usize, 1..5), cut in 1..5_usize) {
            let sent: Vec<_> = bodies.iter().map(|(kind, body)| message(*kind, body)).collect();
            let mut bytes = sent.concat();
            prop_assert_eq!(&read_in_parts(&bytes, &parts), &sent);
            bytes.truncate(bytes.len().saturating_sub(cut));
            let whole = sent.len().saturating_sub(1);
            prop_assert_eq!(&read_in_parts(&bytes, &parts)[..], &sent[..whole]);
        }

        /// Any bytes at all are read as far as they are messages, without a panic and without the memory that they announce.
        #[test]
        fn any_bytes_are_judged(bytes in vec(any::<u8>(), 0..80), parts in vec(1..9_usize, 1..5)) {
            let read = read_in_parts(&bytes, &parts).concat();
            prop_assert!(bytes.starts_with(&read));
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let _ = runtime.block_on(Opening::read(&mut bytes.as_slice()));
        }
    }
}
