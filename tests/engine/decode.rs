//! Payloads that do not decode.

use crate::floor::{Do, Floor, ask};

/// S2-23, S2-70, O7, B3, Q33: one payload of ten does not decode: the nine others complete; the bad one is failed at once, reason quarantined,
/// with the path in the error; it runs by a redrive when the payload can be read again.
#[tokio::test]
async fn an_undecodable_payload_stops_nobody_and_can_be_redriven() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let mut events = Vec::new();
    for n in 0..10 {
        events.push(ask(&outbox, &format!("n{n}"), [Do::Succeed]).await);
    }
    let broken = events[3];
    let set_plan = async |plan: &str| {
        let text = format!(
            "begin; set local outbox.owner_work = 'on';
             update :schema.event set payload = jsonb_set(payload, '{{plan}}', '{plan}') where id = '{}'; commit",
            broken.as_uuid()
        );
        floor.sandbox.execute(&text).await;
    };
    set_plan(r#"[{"Slow": "not a number"}]"#).await;
    outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.failed()), (9, 1), "{jobs:#?}");
    let job = floor.job("desk.note", broken).await;
    assert_eq!((job.reason.as_deref(), job.attempts), (Some("quarantined"), 1));
    let error = job.last_error.clone().unwrap();
    assert!(error.contains("plan[0]") && error.contains("invalid type: string, expected u64"), "{error}");
    assert!(!error.contains("not a number"), "it does not repeat the value: {error}");
    assert_eq!(floor.stage.executions("desk.note", "n3"), 0);
    set_plan("[]").await;
    outbox.redrive(job.id).await.unwrap();
    outbox.drain().await.unwrap();
    let job = floor.job("desk.note", broken).await;
    assert_eq!((job.status.as_str(), floor.stage.executions("desk.note", "n3")), ("succeeded", 1));
}

/// O7: context that cannot be read keeps nobody from working: the payload is good, and the handler runs.
#[tokio::test]
async fn unreadable_metadata_does_not_stop_the_job() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    floor
        .sandbox
        .execute(r#"begin; set local outbox.owner_work = 'on'; update :schema.event set metadata = '{"headers": 7}'; commit"#)
        .await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.job("desk.note", event).await.status, "succeeded");
}

/// One field of the context that is odd costs neither the payload nor the other fields.
#[tokio::test]
async fn odd_metadata_keeps_the_payload_and_the_rest_of_the_context() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["clerk.full"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let odd =
        r#"{"actor": "ann", "causation": "nobody", "headers": {"a": 7}, "tenant": [], "invented_later": {"x": 1e400}}"#;
    let text = format!(
        "begin; set local outbox.owner_work = 'on'; update :schema.event set metadata = '{odd}' where id = '{}'; commit",
        event.as_uuid()
    );
    floor.sandbox.execute(&text).await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.stage.noted("by ")[0], "ann of a");
}

/// An event that retention removed from under its job: the job is failed, quarantined, and holds up nobody.
#[tokio::test]
async fn a_job_without_its_event_fails_visibly() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let other = ask(&outbox, "b", []).await;
    let gone = format!(
        "begin; set local outbox.owner_work = 'on'; delete from :schema.event where id = '{}'; commit",
        event.as_uuid()
    );
    floor.sandbox.execute(&gone).await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.job("desk.note", other).await.status, "succeeded");
    let job = floor.job("desk.note", event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref()), ("failed", Some("quarantined")));
}
