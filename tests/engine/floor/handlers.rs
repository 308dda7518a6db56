//! The handlers of these tests, by what is special about each; what they do is in the message's script.

use outbox::prelude::*;

use super::stage::{Asked, Followed, It, Letter, Stage};

#[subscriber(event = "work.asked", name = "desk.note", max_attempts = 3, backoff = fixed("100ms"))]
async fn note(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.note", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.copy", max_attempts = 3, backoff = fixed("100ms"))]
async fn copy(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.copy", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.once", max_attempts = 1)]
async fn once(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.once", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.single", max_attempts = 1)]
async fn single(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.single", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.narrow", concurrency = 2)]
async fn narrow(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.narrow", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.quick", max_attempts = 2, backoff = fixed("50ms"), timeout = "300ms")]
async fn quick(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.quick", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.long", timeout = "1h")]
async fn long(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.long", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.doubling", max_attempts = 3, backoff = exponential("400ms", max = "10s"))]
async fn doubling(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("desk.doubling", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "desk.patient", max_attempts = 8)]
async fn patient(
    asked: Asked,
    attempt: Attempt,
    cancellation: Cancellation,
    _key: IdempotencyKey,
    State(stage): State<Stage>,
) -> HandlerResult {
    stage.play("desk.patient", &asked, It { cancellation: Some(cancellation), ..It::at(attempt) }).await
}

#[subscriber(event = "work.asked", name = "shelf.fill", max_attempts = 3, backoff = fixed("100ms"))]
async fn fill(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("shelf.fill", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "order_item.pack", max_attempts = 3)]
async fn pack(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("order_item.pack", &asked, It::at(attempt)).await
}

/// An effect that is somebody else's, and must not be had twice.
#[subscriber(event = "work.asked", name = "bank.pay", aliases("bank.transfer"), unknown = park, backoff = fixed("100ms"))]
async fn pay(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("bank.pay", &asked, It::at(attempt)).await
}

/// The same with little patience.
#[subscriber(event = "work.asked", name = "bank.hasten", unknown = park, backoff = fixed("100ms"), timeout = "300ms")]
async fn hasten(asked: Asked, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play("bank.hasten", &asked, It::at(attempt)).await
}

#[subscriber(event = "work.asked", name = "till.book", max_attempts = 3, backoff = fixed("100ms"))]
async fn book(asked: Asked, mut tx: Tx<'_>, attempt: Attempt, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "till.book", &asked.label).await?;
    stage.play("till.book", &asked, It { tx: Some(&mut tx), ..It::at(attempt) }).await
}

#[subscriber(event = "work.followed", name = "shelf.follow")]
async fn follow(
    followed: Followed,
    envelope: Envelope,
    _key: IdempotencyKey,
    State(stage): State<Stage>,
) -> HandlerResult {
    let (_execution, _) = stage.begin("shelf.follow", &followed.label);
    stage.note(format!("correlation {}", envelope.correlation()));
    if let Some(cause) = envelope.metadata.causation {
        stage.note(format!("causation {cause}"));
    }
    Ok(())
}

#[subscriber(job = "desk.letter", max_attempts = 3, backoff = fixed("100ms"))]
async fn letter(letter: Letter, envelope: Envelope, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    let (_execution, _) = stage.begin("desk.letter", &letter.label);
    stage.note(format!("letter {} {} v{}", envelope.id, envelope.name, envelope.version));
    if letter.label == "unknown" {
        return Err(Failure::outcome_unknown("the post says nothing").into());
    }
    if letter.label == "wait" {
        stage.opened("letters").await;
    }
    Ok(())
}
