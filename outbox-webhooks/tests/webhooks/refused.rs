//! Nothing is sent where it must not go: into our own network, behind a redirect, or in the open.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_webhooks::{DeliveryStatus, EndpointError, NewEndpoint, Resolve, UrlError};

use crate::floor::Floor;
use crate::receiver::{Receiver, Reply};

/// A name server that answers each question with the next of its lists, and the last again and again.
#[derive(Debug, Clone, Default)]
struct Answers(Arc<Mutex<VecDeque<Vec<IpAddr>>>>);

impl Answers {
    fn of(answers: impl IntoIterator<Item = Vec<IpAddr>>) -> Self {
        Self(Arc::new(Mutex::new(answers.into_iter().collect())))
    }
}

impl Resolve for Answers {
    fn resolve<'a>(&'a self, _: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        let mut answers = self.0.lock().unwrap();
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { next.ok_or_else(|| io::Error::other("no such name")) })
    }
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The URL of a name that leads to the receiver, if the name server says so.
fn named(receiver: &Receiver) -> String {
    format!("http://receiver.example:{}/hook", receiver.address.port())
}

/// Whatever stands in the row: it is judged again at each delivery.
#[tokio::test]
async fn an_address_of_ours_is_refused_at_the_delivery_too() {
    let receiver = Receiver::new().await;
    let port = receiver.address.port();
    for host in
        ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"]
    {
        let floor = Floor::strict(|webhooks| webhooks.allow_http(true)).await;
        let created = floor.create(NewEndpoint::new("acme", "https://example.com/")).await;
        let set = format!(
            "update :schema.webhook_endpoint set url = 'http://{host}:{port}/' where id = '{}'",
            created.endpoint.id
        );
        floor.sandbox.execute(&set).await;
        let event = floor.issue().await;
        floor.drain().await;
        let delivery = floor.only(event).await;
        assert_eq!(delivery.status, DeliveryStatus::Failed, "{host}");
        assert!(delivery.last_error.as_deref().unwrap().contains("no public address"), "{delivery:#?}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_name_that_leads_into_our_network_is_refused_when_it_is_connected_to() {
    let receiver = Receiver::new().await;
    let metadata: IpAddr = "169.254.169.254".parse().unwrap();
    let mapped: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
    let nat64: IpAddr = "64:ff9b::7f00:1".parse().unwrap();
    for address in [LOOPBACK, metadata, mapped, nat64, "fd00::1".parse().unwrap(), "100.64.0.1".parse().unwrap()] {
        let names = Answers::of([vec![address]]);
        let floor = Floor::strict(|webhooks| webhooks.allow_http(true).resolver(names)).await;
        floor.create(NewEndpoint::new("acme", named(&receiver))).await;
        let event = floor.issue().await;
        floor.drain().await;
        let delivery = floor.only(event).await;
        // Names change, so it is tried again.
        assert_eq!(delivery.status, DeliveryStatus::Pending);
        let error = delivery.last_error.unwrap();
        assert_eq!(error, format!("refused: `receiver.example` leads to {address}, which is no public address"));
    }
    assert_eq!(receiver.connections(), 0);
}

/// The system's own names are no way in either.
#[tokio::test]
async fn localhost_is_refused_by_its_address() {
    let receiver = Receiver::new().await;
    let floor = Floor::strict(|webhooks| webhooks.allow_http(true)).await;
    floor.create(NewEndpoint::new("acme", format!("http://localhost:{}/", receiver.address.port()))).await;
    let event = floor.issue().await;
    floor.drain().await;
    assert!(floor.only(event).await.last_error.unwrap().starts_with("refused: `localhost` leads to "));
    assert_eq!(receiver.connections(), 0);
}

/// A name that is public while it is looked at and ours a moment later: each attempt looks once, and connects to what it saw.
#[tokio::test]
async fn a_name_that_changes_its_mind_gains_nothing() {
    let receiver = Receiver::new().await;
    // Nobody answers there: RFC 5737's addresses are refused, so one of the public internet that refuses or drops.
    let public: IpAddr = "192.0.9.1".parse().unwrap();
    let names = Answers::of([vec![public], vec![LOOPBACK], vec![public, LOOPBACK], vec![LOOPBACK]]);
    let short = Duration::from_millis(200);
    let floor =
        Floor::strict(|webhooks| webhooks.allow_http(true).resolver(names.clone()).connect_timeout(short)).await;
    floor.create(NewEndpoint::new("acme", named(&receiver))).await;
    let event = floor.issue().await;
    for _ in 0..4 {
        floor.all_due().await;
        floor.drain().await;
    }
    let delivery = floor.only(event).await;
    assert_eq!(delivery.attempts, 4);
    let errors: Vec<_> = floor.attempts(&delivery).await.into_iter().map(|one| one.error.unwrap()).collect();
    assert!(errors[0].contains("192.0.9.1") || errors[0].starts_with("no connection within"), "{errors:?}");
    assert!(errors[1].starts_with("refused: "), "{errors:?}");
    // Of a mixed answer only the public part is tried.
    assert!(errors[2].contains("192.0.9.1") || errors[2].starts_with("no connection within"), "{errors:?}");
    assert!(errors[3].starts_with("refused: "), "{errors:?}");
    assert_eq!(receiver.connections(), 0);
}

/// Not even to where the redirect could lead: the receiver behind it hears nothing, and the log says what to do.
#[tokio::test]
async fn a_redirect_is_a_failed_delivery_that_says_so() {
    for status in [301, 302, 303, 307, 308] {
        let floor = Floor::new().await;
        let private = Receiver::new().await;
        let place = format!("location: {}\r\n", private.url());
        let receiver = Receiver::answering([Reply::with(status, &place)]).await;
        floor.endpoint(&receiver).await;
        let event = floor.issue().await;
        floor.drain().await;
        let delivery = floor.only(event).await;
        assert_eq!((delivery.status, delivery.last_status), (DeliveryStatus::Pending, Some(status)));
        let error = delivery.last_error.unwrap();
        assert!(error.contains("redirects are not followed") && error.contains(&private.url()), "{error}");
        assert_eq!(private.connections(), 0);
        if status == 308 {
            floor.to_the_end().await;
            assert_eq!(floor.only(event).await.status, DeliveryStatus::Failed);
            assert_eq!((receiver.requests().len(), private.connections()), (8, 0));
        }
    }
}

#[tokio::test]
async fn an_endpoint_that_nothing_may_go_to_is_not_made() {
    let floor = Floor::strict(|webhooks| webhooks).await;
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    let mut refused =
        async |url: &str| match floor.webhooks.create(&mut connection, NewEndpoint::new("acme", url)).await {
            Err(EndpointError::Url(error)) => error,
            other => panic!("{url}: {other:?}"),
        };
    assert_eq!(refused("http://example.com/").await, UrlError::Scheme("http".into()));
    assert_eq!(refused("https://10.0.0.1/").await, UrlError::Private("10.0.0.1".parse().unwrap()));
    assert_eq!(refused("https://0x7f.1/").await, UrlError::Private(LOOPBACK));
    assert_eq!(refused("https://ann:pw@example.com/").await, UrlError::Credentials);
    assert_eq!(refused("https://example.com:25/").await, UrlError::Port(25));
    assert!(matches!(refused("example.com").await, UrlError::Malformed(_)));
}
