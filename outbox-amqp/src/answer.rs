//! What confirms and errors say: whose fault it is.

use lapin::protocol::{AMQPError, AMQPErrorKind, AMQPSoftError};
use lapin::{Confirmation, ErrorKind};
use outbox_relay::{Confirmed, NotConfirmed, Outgoing};

/// A message that no queue took is confirmed too, and was returned before.
pub(crate) fn confirmed(confirmation: Confirmation, message: &Outgoing) -> Result<Confirmed, NotConfirmed> {
    match confirmation {
        Confirmation::Ack(None) => Ok(Confirmed::new()),
        Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned)) => Err(NotConfirmed::Unroutable {
            route: message.route().to_owned(),
            reason: format!("returned: {} {}", returned.reply_code, returned.reply_text.as_str()),
        }),
        Confirmation::Nack(None) => {
            Err(NotConfirmed::Refused("not acknowledged: a queue is full, or could not store it".to_owned()))
        }
        Confirmation::NotRequested => Err(NotConfirmed::Unreachable("the channel does not confirm".to_owned())),
    }
}

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
