//! A server that speaks TLS alone.

use std::path::{Path, PathBuf};

use outbox_ingest::Source as _;
use outbox_nats::async_nats::jetstream::consumer::pull;
use outbox_nats::{Nats, NatsSource};
use outbox_relay::contract::{Broker as _, Certificates, PATIENCE, SecureBroker};

use crate::server::{STREAM, Server, stream};

pub struct Secure(Server);

impl SecureBroker for Secure {
    type Transport = Nats;

    async fn start(certificates: &Certificates, known_only: bool) -> Self {
        let (authority, (certificate, key)) = (certificates.authority(), certificates.server());
        let mut arguments = vec!["--tls".into(), "--tlscert".into(), certificate.into()];
        arguments.extend(["--tlskey".into(), key.into()]);
        if known_only {
            arguments.extend(["--tlsverify".into(), "--tlscacert".into(), authority.into_os_string()]);
        }
        Self(Server::start_with(&arguments).await)
    }

    async fn transport(&self, authorities: &Path, certificate: Option<(PathBuf, PathBuf)>) -> Nats {
        let builder = self.0.builder().declare(stream(&["contract.>"])).authorities(authorities);
        let builder = match certificate {
            Some((certificate, key)) => builder.certificate(certificate, key),
            None => builder,
        };
        builder.connect().await.unwrap()
    }
}

outbox_relay::secure_contract!(Secure);

/// The way in is as the way out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_shows_its_certificate_too() {
    let certificates = Certificates::new();
    let broker = Secure::start(&certificates, true).await;
    // The stream is its producer's.
    let producer = broker.transport(&certificates.authority(), Some(certificates.client())).await;
    producer.ready(PATIENCE).await.unwrap();
    let (certificate, key) = certificates.client();
    let url = format!("nats://{}", broker.0.address());
    let builder = || {
        let builder = NatsSource::builder(&url, STREAM, "billing").declare(pull::Config::default());
        builder.authorities(certificates.authority())
    };
    let source = builder().certificate(certificate, key).connect().await.unwrap();
    source.ready(PATIENCE).await.unwrap();
    let stranger = builder().connect().await.unwrap();
    outbox_testing::eventually("it is told what to do", async || {
        stranger.link().status().last_error.filter(|error| error.contains("`.certificate(..)`"))
    })
    .await;
}

/// Whoever names authorities means TLS: a server that offers none is told nothing.
#[tokio::test]
async fn a_server_without_tls_is_not_spoken_to() {
    let server = Server::start_with(&[]).await;
    let certificates = Certificates::new();
    let nats = server.builder().authorities(certificates.authority()).connect().await.unwrap();
    let error = outbox_testing::eventually("it is told", async || {
        nats.ready(std::time::Duration::from_millis(50)).await.unwrap_err().last_error
    })
    .await;
    assert!(error.contains("TLS") || error.contains("IO error"), "{error}");
    drop(nats);
    server.builder().connect().await.unwrap().ready(PATIENCE).await.unwrap();
}
