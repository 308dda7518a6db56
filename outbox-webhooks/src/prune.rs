//! **prune**: deliveries that are old enough go, a bounded piece at a time.

use outbox::{HandlerResult, State, scheduled};
use sqlx::PgConnection;

use crate::record::{acquire, within};
use crate::schema::Statement;
use crate::webhooks::Webhooks;

/// Most rows of one statement, each of which commits for itself.
const PIECE: i64 = 1_000;
/// Most pieces of one run; what is left goes in the next.
const PIECES: u32 = 50;

/// At any time, by any process: each statement is whole, and takes only what nobody needs.
#[scheduled(
    every = "1h",
    name = "webhooks.prune",
    timeout = "5m",
    max_attempts = 1,
    idempotent = "what is old goes once"
)]
async fn prune(State(webhooks): State<Webhooks>) -> HandlerResult {
    for statement in [&webhooks.statements().prune, &webhooks.statements().prune_messages] {
        for _ in 0..PIECES {
            if piece(&webhooks, statement).await? < PIECE.unsigned_abs() {
                break;
            }
        }
    }
    Ok(())
}

/// How many rows went.
async fn piece(webhooks: &Webhooks, statement: &Statement) -> Result<u64, crate::record::RecordError> {
    let mut connection = acquire(webhooks.pool()).await?;
    let piece = sqlx::query(statement.text()).bind(webhooks.inner().keep.as_secs_f64()).bind(PIECE);
    let run = async |connection: &mut PgConnection| Ok(piece.execute(connection).await?.rows_affected());
    within(&mut connection, run).await
}
