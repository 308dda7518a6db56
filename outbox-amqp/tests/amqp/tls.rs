//! A node that speaks TLS alone, and what is refused before anything is connected.

use std::path::{Path, PathBuf};

use outbox_amqp::{Amqp, AmqpError, AmqpSource};
use outbox_ingest::Source as _;
use outbox_relay::contract::{Certificates, PATIENCE, RabbitServer, SecureBroker};

pub struct Secure(RabbitServer);

impl SecureBroker for Secure {
    type Transport = Amqp;

    async fn start(certificates: &Certificates, known_only: bool) -> Self {
        let (authority, (certificate, key)) = (certificates.authority(), certificates.server());
        let verify = if known_only { "verify_peer" } else { "verify_none" };
        let listeners = |port| {
            format!(
                "listeners.tcp = none\nlisteners.ssl.1 = 127.0.0.1:{port}\nssl_options.cacertfile = {}\n\
                 ssl_options.certfile = {}\nssl_options.keyfile = {}\nssl_options.verify = {verify}\n\
                 ssl_options.fail_if_no_peer_cert = {known_only}\n",
                authority.display(),
                certificate.display(),
                key.display(),
            )
        };
        Self(RabbitServer::listening(listeners, Some(1)).await)
    }

    async fn transport(&self, authorities: &Path, certificate: Option<(PathBuf, PathBuf)>) -> Amqp {
        let url = format!("amqps://guest:guest@{}/%2f", self.0.address());
        let builder = Amqp::builder(url, "contract").queue("contract", ["contract.#"]).authorities(authorities);
        let builder = match certificate {
            Some((certificate, key)) => builder.certificate(certificate, key),
            None => builder,
        };
        builder.connect().unwrap()
    }
}

outbox_relay::secure_contract!(Secure);

/// The way in is as the way out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_shows_its_certificate_too() {
    let certificates = Certificates::new();
    let broker = Secure::start(&certificates, true).await;
    let url = format!("amqps://guest:guest@{}/%2f", broker.0.address());
    let (certificate, key) = certificates.client();
    let builder = || AmqpSource::builder(&url, "contract").declare().authorities(certificates.authority());
    let source = builder().certificate(certificate, key).connect().unwrap();
    source.ready(PATIENCE).await.unwrap();
    let stranger = builder().connect().unwrap();
    let told = async {
        while !stranger.link().status().last_error.is_some_and(|error| error.contains("`.certificate(..)`")) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.unwrap_or_else(|_| panic!("{:?}", stranger.link()));
}

/// Whoever names authorities means TLS, and would otherwise send everything in the clear.
#[tokio::test]
async fn certificates_without_tls_are_refused() {
    let plain = || Amqp::builder("amqp://127.0.0.1:1/%2f", "shop");
    for builder in [plain().authorities("ca.pem"), plain().certificate("own.pem", "own.key")] {
        let error = builder.connect().unwrap_err();
        assert!(matches!(error, AmqpError::NoTls), "{error}");
        assert!(error.to_string().contains("`amqps://`"), "{error}");
    }
}
