//! Endpoints as rows: made, changed, removed, within the caller's transaction.

use std::time::Duration;

use outbox_webhooks::{EndpointChange, EndpointError, NewEndpoint, SettingError, UrlError, Webhooks};

use crate::floor::Floor;

#[tokio::test]
async fn an_endpoint_is_made_changed_and_removed() {
    let floor = Floor::new().await;
    let new = NewEndpoint::new("acme", "https://Example.com:443/hook").description("ours").event_types(["issue.*"]);
    let created = floor.create(new.skip_via_webhook(true)).await.endpoint;
    assert_eq!((created.url.as_str(), created.description.as_str()), ("https://example.com/hook", "ours"));
    assert!(created.skip_via_webhook && created.disabled_at.is_none() && created.failing_since.is_none());
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    let (webhooks, id) = (&floor.webhooks, created.id);
    assert_eq!(webhooks.endpoints(&mut connection, "acme").await.unwrap(), std::slice::from_ref(&created));
    assert_eq!(webhooks.endpoints(&mut connection, "another").await.unwrap(), []);

    // What is not said stays.
    assert_eq!(webhooks.change(&mut connection, id, EndpointChange::new()).await.unwrap(), created);
    let change = EndpointChange::new().url("https://example.org/").description("").skip_via_webhook(false);
    let changed = webhooks.change(&mut connection, id, change.event_types(["issue.created"])).await.unwrap();
    assert_eq!((changed.url.as_str(), changed.description.as_str()), ("https://example.org/", ""));
    assert_eq!((changed.event_types.as_slice(), changed.skip_via_webhook), (&["issue.created".to_owned()][..], false));

    webhooks.delete(&mut connection, id).await.unwrap();
    assert_eq!(webhooks.endpoint(&mut connection, id).await.unwrap(), None);
    assert_eq!(floor.sandbox.number("select count(*) from :schema.webhook_secret").await, 0);
    assert!(matches!(webhooks.delete(&mut connection, id).await, Err(EndpointError::NotFound(of)) if of == id));
    assert!(matches!(webhooks.enable(&mut connection, id).await, Err(EndpointError::NotFound(_))));
    assert!(matches!(webhooks.disable(&mut connection, id, "x").await, Err(EndpointError::NotFound(_))));
    assert!(matches!(
        webhooks.change(&mut connection, id, EndpointChange::new()).await,
        Err(EndpointError::NotFound(_))
    ));
}

#[tokio::test]
async fn what_the_caller_rolls_back_is_not_there() {
    let floor = Floor::new().await;
    let mut tx = floor.outbox.begin().await.unwrap();
    floor.webhooks.create(&mut tx, NewEndpoint::new("acme", "https://example.com/")).await.unwrap();
    // A refusal leaves the transaction usable.
    let odd = [
        NewEndpoint::new("acme", "nowhere"),
        NewEndpoint::new("acme", "https://example.com/").event_types(["Issue Created"]),
        NewEndpoint::new("ac\0me", "https://example.com/"),
        NewEndpoint::new("acme", "https://example.com/").description("\0"),
    ];
    for endpoint in odd {
        assert!(floor.webhooks.create(&mut tx, endpoint).await.is_err());
    }
    assert_eq!(floor.webhooks.endpoints(&mut tx, "acme").await.unwrap().len(), 1);
    tx.rollback().await.unwrap();
    assert_eq!(floor.sandbox.number("select count(*) from :schema.webhook_endpoint").await, 0);
}

#[tokio::test]
async fn a_change_is_judged_as_a_new_one_is() {
    let floor = Floor::strict(|webhooks| webhooks).await;
    let id = floor.create(NewEndpoint::new("acme", "https://example.com/")).await.endpoint.id;
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    let change = EndpointChange::new().url("https://169.254.169.254/latest/meta-data/");
    let refused = floor.webhooks.change(&mut connection, id, change).await;
    assert!(matches!(refused, Err(EndpointError::Url(UrlError::Private(_)))));
    let change = EndpointChange::new().event_types(["*.created"]);
    let refused = floor.webhooks.change(&mut connection, id, change).await;
    assert!(matches!(refused, Err(EndpointError::EventType(odd)) if odd == "*.created"));
    let kept = floor.webhooks.endpoint(&mut connection, id).await.unwrap().unwrap();
    assert_eq!(kept.url, "https://example.com/");
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused() {
    let floor = Floor::new().await;
    let builder = || Webhooks::builder(floor.sandbox.pool().clone());
    let refused = |built: Result<Webhooks, SettingError>| built.unwrap_err().to_string();
    assert!(refused(builder().schema("No Name").build()).contains("No Name"));
    assert!(refused(builder().timeout(Duration::ZERO).build()).contains("timeout"));
    assert!(refused(builder().timeout(Duration::from_secs(31)).build()).contains("30 s"));
    assert!(refused(builder().connect_timeout(Duration::from_secs(31)).build()).contains("connect_timeout"));
    assert!(refused(builder().keep(Duration::from_hours(23)).build()).contains("a day at least"));
    assert!(refused(builder().exclude(["exported"]).build()).contains("`exported`"));
    assert!(refused(builder().keep_answer(20_000).build()).contains("16,384"));
    assert!(refused(builder().disable_after_dead_deliveries(0).build()).contains("1 or more"));
    assert!(refused(builder().root_certificate(*b"no certificate").build()).contains("root_certificate"));
    assert!(builder().build().is_ok());
}
