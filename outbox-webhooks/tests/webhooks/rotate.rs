//! A new secret, and the old one beside it.

use std::time::Duration;

use outbox_webhooks::{EndpointError, NewEndpoint, Secret, VerifyError};

use crate::floor::Floor;
use crate::receiver::Receiver;

const HOUR: Duration = Duration::from_hours(1);

/// During the overlap each message is believed by receivers with the old secret and by those with the new one; behind it by those with
/// the new one only.
#[tokio::test]
async fn both_secrets_sign_until_the_old_one_ends() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    let created = floor.endpoint(&receiver).await;
    let (id, old) = (created.endpoint.id, created.secret);
    let mut tx = floor.outbox.begin().await.unwrap();
    let new = floor.webhooks.rotate_secret(&mut tx, id, HOUR).await.unwrap();
    tx.commit().await.unwrap();
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    assert_eq!(floor.webhooks.secrets(&mut connection, id).await.unwrap(), [new.clone(), old.clone()]);
    floor.issue().await;
    floor.drain().await;
    let request = receiver.only();
    assert_eq!((request.verify(&old), request.verify(&new)), (Ok(()), Ok(())));
    assert_eq!(request.header("webhook-signature").split(' ').count(), 2);
    assert_eq!(request.verify(&Secret::generate()), Err(VerifyError::Mismatch));

    floor.sandbox.execute("update :schema.webhook_secret set expires_at = now() where expires_at is not null").await;
    floor.issue().await;
    floor.drain().await;
    let request = &receiver.requests()[1];
    assert_eq!((request.verify(&old), request.verify(&new)), (Err(VerifyError::Mismatch), Ok(())));
    assert_eq!(floor.webhooks.secrets(&mut connection, id).await.unwrap(), [new]);
}

#[tokio::test]
async fn a_secret_that_others_know_ends_at_once() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    let known = Secret::generate();
    let created = floor.create(NewEndpoint::new("acme", receiver.url()).secret(known.clone())).await;
    assert_eq!(created.secret, known);
    let mut tx = floor.outbox.begin().await.unwrap();
    let new = floor.webhooks.rotate_secret(&mut tx, created.endpoint.id, Duration::ZERO).await.unwrap();
    tx.commit().await.unwrap();
    floor.issue().await;
    floor.drain().await;
    let request = receiver.only();
    assert_eq!((request.verify(&known), request.verify(&new)), (Err(VerifyError::Mismatch), Ok(())));
}

/// However often it is rotated, a header stays short, and what has ended is not kept.
#[tokio::test]
async fn the_newest_four_sign_and_ended_ones_go() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    let mut tx = floor.outbox.begin().await.unwrap();
    let mut secrets = Vec::new();
    for _ in 0..6 {
        secrets.insert(0, floor.webhooks.rotate_secret(&mut tx, id, HOUR).await.unwrap());
    }
    tx.commit().await.unwrap();
    floor.issue().await;
    floor.drain().await;
    let request = receiver.only();
    assert!(secrets[..4].iter().all(|secret| request.verify(secret).is_ok()));
    assert!(secrets[4..].iter().all(|secret| request.verify(secret).is_err()));
    floor.sandbox.execute("update :schema.webhook_secret set expires_at = now() where expires_at is not null").await;
    let mut tx = floor.outbox.begin().await.unwrap();
    floor.webhooks.rotate_secret(&mut tx, id, HOUR).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(floor.sandbox.number("select count(*) from :schema.webhook_secret").await, 2);
}

/// Two people rotate at once: the second sees what the first has done, and both secrets sign.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_rotations_at_once_follow_each_other() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    let (webhooks, outbox) = (floor.webhooks.clone(), floor.outbox.clone());
    let mut first = outbox.begin().await.unwrap();
    let one = webhooks.rotate_secret(&mut first, id, HOUR).await.unwrap();
    let second = tokio::spawn(async move {
        let mut tx = outbox.begin().await.unwrap();
        let secret = webhooks.rotate_secret(&mut tx, id, HOUR).await.unwrap();
        tx.commit().await.unwrap();
        secret
    });
    let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%:schema.webhook_endpoint%'";
    outbox_testing::eventually("the second waits", async || (floor.sandbox.number(waiting).await == 1).then_some(()))
        .await;
    first.commit().await.unwrap();
    let other = second.await.unwrap();
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    assert_eq!(floor.webhooks.secrets(&mut connection, id).await.unwrap()[..2], [other, one]);
}

#[tokio::test]
async fn half_a_rotation_is_refused() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    let mut alone = floor.sandbox.pool().acquire().await.unwrap();
    let refused = floor.webhooks.rotate_secret(&mut alone, id, HOUR).await;
    assert!(matches!(refused, Err(EndpointError::NoTransaction)));
    let mut tx = floor.outbox.begin().await.unwrap();
    let unknown = uuid::Uuid::from_u128(7).into();
    let refused = floor.webhooks.rotate_secret(&mut tx, unknown, HOUR).await;
    assert!(matches!(refused, Err(EndpointError::NotFound(id)) if id == unknown));
}
