//! What the client's errors say: whose fault it is.

use std::error::Error as _;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{AccountErrorKind, PublishError, PublishErrorKind};
use outbox_relay::NotConfirmed;

/// Longer than any relay waits, whose own time counts.
pub(crate) const ACK_TIMEOUT: Duration = Duration::from_mins(2);

/// Errors of JetStream as a whole, not of a message: no leader, switched off, out of disk.
const OF_THE_SERVER: [ErrorCode; 9] = [
    ErrorCode::CLUSTER_NOT_AVAILABLE,
    ErrorCode::CLUSTER_NOT_LEADER,
    ErrorCode::INSUFFICIENT_RESOURCES,
    ErrorCode::MEMORY_RESOURCES_EXCEEDED,
    ErrorCode::STORAGE_RESOURCES_EXCEEDED,
    ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
    ErrorCode::JETSTREAM_NOT_ENABLED,
    ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT,
    ErrorCode::STREAM_OFFLINE,
];

pub(crate) fn not_confirmed(error: &PublishError, route: &str) -> NotConfirmed {
    match error.kind() {
        PublishErrorKind::StreamNotFound => {
            let reason = "no stream of JetStream has this subject".to_owned();
            NotConfirmed::Unroutable { route: route.to_owned(), reason }
        }
        PublishErrorKind::MaxPayloadExceeded => NotConfirmed::Unsendable(error.to_string()),
        PublishErrorKind::TimedOut => NotConfirmed::NoAnswer(ACK_TIMEOUT),
        PublishErrorKind::BrokenPipe | PublishErrorKind::MaxAckPending => NotConfirmed::Unreachable(error.to_string()),
        PublishErrorKind::WrongLastMessageId | PublishErrorKind::WrongLastSequence | PublishErrorKind::Other => {
            refused(error)
        }
    }
}

/// Nobody took the message. That is its own matter only where JetStream is there and no stream of it has the subject: a server on its way down
/// or up answers the same for every message. Where JetStream may not be asked, it is taken for the message's.
pub(crate) fn untaken(
    jetstream: Result<(), &AccountErrorKind>,
    its_stream: Option<&str>,
    unroutable: NotConfirmed,
) -> NotConfirmed {
    match jetstream {
        Err(AccountErrorKind::JetStreamUnavailable) => {
            NotConfirmed::Unreachable("JetStream does not answer on this server".to_owned())
        }
        Err(AccountErrorKind::JetStream(error)) if OF_THE_SERVER.contains(&error.error_code()) => {
            NotConfirmed::Unreachable(error.to_string())
        }
        _ => match its_stream {
            Some(stream) => {
                NotConfirmed::Unreachable(format!("the stream {stream} has the subject and takes nothing now"))
            }
            None => unroutable,
        },
    }
}

fn refused(error: &PublishError) -> NotConfirmed {
    let answer = error.source().and_then(|source| source.downcast_ref::<async_nats::jetstream::Error>());
    match answer.map(async_nats::jetstream::Error::error_code) {
        Some(ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM) => NotConfirmed::Unsendable(error.to_string()),
        Some(code) if OF_THE_SERVER.contains(&code) => NotConfirmed::Unreachable(error.to_string()),
        _ => NotConfirmed::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unroutable() -> NotConfirmed {
        NotConfirmed::Unroutable { route: "a.b".to_owned(), reason: "none".to_owned() }
    }

    /// O15: a server that stops its streams before its connections charges no message for it.
    #[test]
    fn a_server_on_its_way_down_is_no_fault_of_the_message() {
        let unavailable = untaken(Err(&AccountErrorKind::JetStreamUnavailable), None, unroutable());
        assert!(matches!(unavailable, NotConfirmed::Unreachable(_)), "{unavailable}");
        let stopped = untaken(Ok(()), Some("ORDERS"), unroutable());
        assert!(matches!(&stopped, NotConfirmed::Unreachable(why) if why.contains("ORDERS")), "{stopped}");
    }

    #[test]
    fn a_subject_that_no_stream_has_is_the_messages_matter() {
        assert_eq!(untaken(Ok(()), None, unroutable()), unroutable());
        // Not allowed to ask: the answer to that question does not come.
        assert_eq!(untaken(Err(&AccountErrorKind::TimedOut), None, unroutable()), unroutable());
    }
}
