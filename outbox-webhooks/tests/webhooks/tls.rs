//! Encryption: with whom, and with nobody else.

use std::sync::Arc;

use outbox_webhooks::{DeliveryStatus, NewEndpoint, Resolve};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::floor::Floor;
use crate::receiver::Receiver;

/// A receiver that proves to be one of these names, by a certificate of its own.
async fn receiver(names: &[&str]) -> (Receiver, Vec<u8>) {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap();
    (Receiver::start(Some(TlsAcceptor::from(Arc::new(config)))).await, cert.der().to_vec())
}

/// Every name leads to this machine.
#[derive(Debug)]
struct Here;

impl Resolve for Here {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
    ) -> std::pin::Pin<Box<dyn Future<Output = std::io::Result<Vec<std::net::IpAddr>>> + Send + 'a>> {
        Box::pin(async { Ok(vec![std::net::Ipv4Addr::LOCALHOST.into()]) })
    }
}

#[tokio::test]
async fn a_receiver_that_proves_its_name_gets_the_message() {
    for host in ["receiver.example", "127.0.0.1"] {
        let (receiver, root) = receiver(&[host]).await;
        let floor =
            Floor::strict(|webhooks| webhooks.allow_private_networks(true).resolver(Here).root_certificate(root)).await;
        let created =
            floor.create(NewEndpoint::new("acme", format!("https://{host}:{}/", receiver.address.port()))).await;
        let event = floor.issue().await;
        floor.drain().await;
        assert_eq!(floor.only(event).await.status, DeliveryStatus::Delivered, "{:#?}", floor.only(event).await);
        assert_eq!(receiver.only().verify(&created.secret), Ok(()));
    }
}

#[tokio::test]
async fn a_receiver_that_proves_nothing_gets_nothing() {
    let (named_otherwise, root) = receiver(&["other.example"]).await;
    let (unknown, _) = receiver(&["receiver.example"]).await;
    let plain = Receiver::new().await;
    let said = ["no TLS with ", "no TLS with ", "no connection within "];
    for (receiver, said) in [&named_otherwise, &unknown, &plain].into_iter().zip(said) {
        let root = root.clone();
        let floor =
            Floor::strict(|webhooks| webhooks.allow_private_networks(true).resolver(Here).root_certificate(root)).await;
        floor.create(NewEndpoint::new("acme", format!("https://receiver.example:{}/", receiver.address.port()))).await;
        let event = floor.issue().await;
        floor.drain().await;
        let delivery = floor.only(event).await;
        assert_eq!(delivery.status, DeliveryStatus::Pending);
        let error = delivery.last_error.unwrap();
        assert!(error.starts_with(said), "{error}");
        assert!(receiver.requests().is_empty());
    }
}
