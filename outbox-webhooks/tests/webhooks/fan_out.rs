//! From an event to deliveries.

use outbox::Metadata;
use outbox_testing::deliver_twice;
use outbox_webhooks::{EndpointChange, NewEndpoint, Outgoing, VIA_WEBHOOK};

use crate::floor::{CommentCreated, Floor, ProjectExported, issue};
use crate::receiver::Receiver;

const NOWHERE: &str = "http://127.0.0.1:9999/";

/// Jobs of deliveries are due in an hour.
const HOLD: &str = "create function :schema.hold() returns trigger language plpgsql as $$
  begin if new.job_type = 'webhooks.deliver' then new.available_at := now() + interval '1 hour'; end if; return new; end $$;
  create trigger hold before insert on :schema.job_live for each row execute function :schema.hold()";

/// S1-45: each active endpoint of the event's tenant gets one pending delivery and one job, and no other endpoint does; a delivery
/// names the job that there is for it.
#[tokio::test]
async fn each_active_endpoint_of_the_tenant_gets_one_delivery_and_one_job() {
    let floor = Floor::new().await;
    let (one, other) = (
        floor.create(NewEndpoint::new("acme", NOWHERE)).await.endpoint,
        floor.create(NewEndpoint::new("acme", NOWHERE)).await.endpoint,
    );
    floor.create(NewEndpoint::new("another tenant", NOWHERE)).await;
    let disabled = floor.create(NewEndpoint::new("acme", NOWHERE)).await.endpoint;
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    floor.webhooks.disable(&mut connection, disabled.id, "not wanted").await.unwrap();
    // Deliveries are made, and none is due before it is looked at.
    floor.sandbox.execute(HOLD).await;
    let event = floor.issue().await;
    floor.drain().await;

    let deliveries = floor.deliveries(event).await;
    let mut endpoints: Vec<_> = deliveries.iter().map(|delivery| delivery.endpoint).collect();
    endpoints.sort();
    let mut expected = vec![one.id, other.id];
    expected.sort();
    assert_eq!(endpoints, expected);
    assert!(deliveries.iter().all(|delivery| delivery.status.as_str() == "pending" && delivery.attempts == 0));
    let jobs = floor.jobs().await;
    assert_eq!(jobs.len(), 2);
    let paired = "select count(*) from :schema.webhook_delivery d join :schema.job_live j on j.id = d.job_id
                  where j.job_type = 'webhooks.deliver' and j.payload->>'delivery' = d.id::text and j.payload->>'endpoint' = d.endpoint_id::text";
    assert_eq!(floor.sandbox.number(paired).await, 2);
}

/// S1-45: delivery and job are one transaction: where the jobs cannot be written, there is no delivery, and behind the repair there
/// are both.
#[tokio::test]
async fn no_delivery_is_left_without_its_job() {
    let floor = Floor::new().await;
    floor.create(NewEndpoint::new("acme", NOWHERE)).await;
    floor
        .sandbox
        .execute(
            "create function :schema.refuse() returns trigger language plpgsql as $$
               begin if new.job_type = 'webhooks.deliver' then raise exception 'no'; end if; return new; end $$;
             create trigger refuse before insert on :schema.job_live for each row execute function :schema.refuse()",
        )
        .await;
    let event = floor.issue().await;
    floor.drain().await;
    assert!(floor.deliveries(event).await.is_empty());
    floor.sandbox.execute("drop trigger refuse on :schema.job_live").await;
    floor.sandbox.execute(HOLD).await;
    floor.sandbox.execute("update :schema.job_live set available_at = now()").await;
    floor.drain().await;
    assert_eq!(floor.deliveries(event).await.len(), 1);
    assert_eq!(floor.jobs().await.len(), 1);
}

/// S1-46: no event types means all; a list means those, by name or pattern; and null is refused.
#[tokio::test]
async fn an_empty_list_of_event_types_means_all() {
    let floor = Floor::new().await;
    let all = floor.create(NewEndpoint::new("acme", NOWHERE)).await.endpoint.id;
    let comments = floor.create(NewEndpoint::new("acme", NOWHERE).event_types(["comment.created"])).await.endpoint.id;
    let both = ["comment.created", "issue.created"];
    let both = floor.create(NewEndpoint::new("acme", NOWHERE).event_types(both)).await.endpoint.id;
    let issues = floor.create(NewEndpoint::new("acme", NOWHERE).event_types(["issue.*"])).await.endpoint.id;
    let changed = floor.create(NewEndpoint::new("acme", NOWHERE).event_types(["project.exported"])).await.endpoint.id;
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    let change = EndpointChange::new().event_types::<String>([]);
    floor.webhooks.change(&mut connection, changed, change).await.unwrap();
    floor.sandbox.execute(HOLD).await;
    let (issue, comment) = (floor.issue().await, floor.publish(&CommentCreated).await);
    floor.drain().await;

    for (event, mut expected) in
        [(issue, vec![all, both, issues, changed]), (comment, vec![all, comments, both, changed])]
    {
        let mut got: Vec<_> = floor.deliveries(event).await.iter().map(|delivery| delivery.endpoint).collect();
        got.sort();
        expected.sort();
        assert_eq!(got, expected);
    }
    for null in ["null", "'{null}'", "'{a.b,null}'"] {
        let set = format!("update \"{}\".webhook_endpoint set event_types = {null}", floor.sandbox.schema());
        assert!(sqlx::query(sqlx::AssertSqlSafe(set)).execute(floor.sandbox.pool()).await.is_err(), "{null}");
    }
}

/// S1-47: the same event twice at the fan-out, also where no inbox mark keeps it from running, makes no second delivery and no second
/// job; the conflict is no error, and an endpoint that has none gets one.
#[tokio::test]
async fn the_same_event_twice_is_one_delivery() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    let first = floor.endpoint(&receiver).await.endpoint.id;
    let event = floor.issue().await;
    floor.drain().await;
    let second = floor.endpoint(&receiver).await.endpoint.id;
    floor
        .sandbox
        .execute(
            "delete from :schema.inbox where handler = 'webhooks.fan_out';
             insert into :schema.job_live (id, event_id, job_type, payload_version, max_attempts, priority)
             select gen_random_uuid(), event_id, job_type, payload_version, max_attempts, priority
             from :schema.job_succeeded where job_type = 'webhooks.fan_out'",
        )
        .await;
    floor.drain().await;
    let fan_outs = floor.sandbox.jobs().await.of("webhooks.fan_out");
    assert_eq!((fan_outs.len(), fan_outs.succeeded()), (2, 2));
    assert!(fan_outs.0.iter().all(|job| job.reason.is_none() && job.attempts == 1), "{fan_outs:#?}");
    let mut endpoints: Vec<_> = floor.deliveries(event).await.iter().map(|delivery| delivery.endpoint).collect();
    endpoints.sort();
    let mut expected = vec![first, second];
    expected.sort();
    assert_eq!(endpoints, expected);
    assert_eq!((floor.jobs().await.len(), receiver.requests().len()), (2, 2));
    // Nor does anybody else make one.
    let again = "insert into :schema.webhook_delivery (id, endpoint_id, event_id)
                 select gen_random_uuid(), endpoint_id, event_id from :schema.webhook_delivery limit 1"
        .replace(":schema.", &format!("\"{}\".", floor.sandbox.schema()));
    let refused = sqlx::query(sqlx::AssertSqlSafe(again)).execute(floor.sandbox.pool()).await.unwrap_err();
    assert!(refused.as_database_error().unwrap().is_unique_violation());
}

/// The ordinary repetition, by which a process that died comes again.
#[tokio::test]
async fn a_fan_out_that_is_repeated_changes_nothing() {
    let floor = Floor::new().await;
    floor.create(NewEndpoint::new("acme", NOWHERE)).await;
    let count = async || floor.sandbox.number("select count(*) from :schema.webhook_delivery").await;
    let event = issue();
    let twice = deliver_twice(&floor.outbox, "webhooks.fan_out", &event, count);
    let twice = floor.outbox.scope_with(Metadata::new().tenant("acme"), twice).await;
    assert_eq!((twice.once, twice.twice), (1, 1));
}

/// S1-17: what the application excludes reaches no endpoint, also none that wants all.
#[tokio::test]
async fn an_excluded_event_reaches_nobody() {
    let floor = Floor::with(|webhooks| webhooks.exclude(["project.exported", "comment.*"])).await;
    let receiver = Receiver::new().await;
    floor.endpoint(&receiver).await;
    floor.create(NewEndpoint::new("acme", receiver.url()).event_types(["project.exported", "comment.created"])).await;
    let (exported, comment) = (floor.publish(&ProjectExported).await, floor.publish(&CommentCreated).await);
    floor.issue().await;
    floor.drain().await;
    assert!(floor.deliveries(exported).await.is_empty() && floor.deliveries(comment).await.is_empty());
    assert_eq!(receiver.only().json()["type"], "issue.created");
}

/// S1-21: an endpoint that says so gets nothing that an incoming webhook caused, over any number of jobs; the others do.
#[tokio::test]
async fn what_an_incoming_webhook_caused_can_be_skipped() {
    let floor = Floor::new().await;
    let all = floor.create(NewEndpoint::new("acme", NOWHERE)).await.endpoint.id;
    let own = floor.create(NewEndpoint::new("acme", NOWHERE).skip_via_webhook(true)).await.endpoint.id;
    floor.sandbox.execute(HOLD).await;
    let context = Metadata::new().tenant("acme");
    let via = floor.publish_in(context.clone().header(VIA_WEBHOOK, "true"), &issue()).await;
    let not_via = floor.publish_in(context.clone().header(VIA_WEBHOOK, "false"), &issue()).await;
    let plain = floor.publish_in(context, &issue()).await;
    floor.drain().await;
    let endpoints = async |event| floor.deliveries(event).await.iter().map(|one| one.endpoint).collect::<Vec<_>>();
    assert_eq!(endpoints(via).await, [all]);
    for event in [not_via, plain] {
        let got = endpoints(event).await;
        assert!(got.len() == 2 && got.contains(&all) && got.contains(&own));
    }
}

/// S1-19: an event without tenant is nobody's: it reaches no endpoint, and is no error.
#[tokio::test]
async fn an_event_without_tenant_reaches_nobody() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    floor.endpoint(&receiver).await;
    floor.create(NewEndpoint::new("", receiver.url())).await;
    let event = floor.publish_in(Metadata::new(), &issue()).await;
    floor.drain().await;
    assert!(floor.deliveries(event).await.is_empty());
    assert_eq!(floor.sandbox.jobs().await.failed(), 0);
    assert_eq!(floor.sandbox.number("select count(*) from :schema.webhook_message").await, 0);
}

#[tokio::test]
async fn the_application_says_whose_it_is_and_what_is_sent() {
    let route = |event: &outbox::Envelope| match event.name.as_str() {
        "issue.created" => Ok(Some(Outgoing::json("ours", &serde_json::json!({ "subject": event.subject.id }))?)),
        "comment.created" => Ok(None),
        _ => Err("no such thing".into()),
    };
    let floor = Floor::with(|webhooks| webhooks.route(route)).await;
    let receiver = Receiver::new().await;
    floor.create(NewEndpoint::new("ours", receiver.url())).await;
    floor.endpoint(&receiver).await;
    floor.issue().await;
    floor.publish(&CommentCreated).await;
    floor.publish(&ProjectExported).await;
    floor.drain().await;
    assert_eq!(receiver.only().json(), serde_json::json!({ "subject": "12" }));
    // What cannot be mapped waits for a person.
    let failed = floor.outbox.failed_of("webhooks.fan_out", 10).await.unwrap();
    assert_eq!(failed.len(), 1);
}
