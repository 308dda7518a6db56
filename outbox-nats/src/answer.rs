//! What the client's errors say: whose fault it is.

use std::error::Error as _;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
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

fn refused(error: &PublishError) -> NotConfirmed {
    let answer = error.source().and_then(|source| source.downcast_ref::<async_nats::jetstream::Error>());
    match answer.map(async_nats::jetstream::Error::error_code) {
        Some(ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM) => NotConfirmed::Unsendable(error.to_string()),
        Some(code) if OF_THE_SERVER.contains(&code) => NotConfirmed::Unreachable(error.to_string()),
        _ => NotConfirmed::Refused(error.to_string()),
    }
}
