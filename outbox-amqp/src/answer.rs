//! What errors say: whose fault it is.

use lapin::ErrorKind;
use lapin::protocol::{AMQPError, AMQPErrorKind, AMQPSoftError};
use outbox_relay::NotConfirmed;

/// Errors of a channel are about its message, apart from an exchange that is not there; all others are about the connection.
pub(crate) fn not_confirmed(error: &lapin::Error) -> NotConfirmed {
    match error.kind() {
        ErrorKind::ProtocolError(answer) => by_code(answer),
        _ => NotConfirmed::Unreachable(error.to_string()),
    }
}

fn by_code(answer: &AMQPError) -> NotConfirmed {
    let said = answer.to_string();
    match answer.kind() {
        AMQPErrorKind::Soft(AMQPSoftError::CONTENTTOOLARGE) => NotConfirmed::Unsendable(said),
        // RabbitMQ's word for a message above `max_message_size`.
        AMQPErrorKind::Soft(AMQPSoftError::PRECONDITIONFAILED) if said.contains("size") => {
            NotConfirmed::Unsendable(said)
        }
        AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED | AMQPSoftError::PRECONDITIONFAILED) => {
            NotConfirmed::Refused(said)
        }
        _ => NotConfirmed::Unreachable(said),
    }
}
