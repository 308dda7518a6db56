//! The clauses about TLS.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::{Certificates, PATIENCE, message, publish};
use crate::transport::{Confirmed, NotConfirmed, Transport};

/// A real server that speaks TLS and nothing else, as the contract uses it. It takes what is published below [`PREFIX`](super::PREFIX).
pub trait SecureBroker: Sized + Send + Sync {
    /// What is tested.
    type Transport: Transport;

    /// A server with the server's certificate of these. When `known_only`, it lets in only clients with a certificate of their authority.
    fn start(certificates: &Certificates, known_only: bool) -> impl Future<Output = Self> + Send;

    /// A transport to it that trusts the authorities of this file, and shows this certificate and its key.
    fn transport(
        &self,
        authorities: &Path,
        certificate: Option<(PathBuf, PathBuf)>,
    ) -> impl Future<Output = Self::Transport> + Send;
}

/// Nothing goes to a server of an unknown authority, and the error says what to do. When the file holds the right one, as behind a change of
/// authorities, the transport connects by itself.
pub async fn a_server_of_an_unknown_authority_is_refused_until_its_file_is_there<B: SecureBroker>() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let broker = B::start(&certificates, false).await;
    let folder = TempDir::new().expect("there is room for a folder");
    let file = folder.path().join("authorities.pem");
    std::fs::copy(others.authority(), &file).expect("it is there");
    let transport = broker.transport(&file, None).await;
    let error = told_of(&transport, "`.authorities(..)`").await;
    assert!(error.contains("UnknownIssuer"), "{error}");
    match publish(&transport, &message("{}")).await {
        Err(NotConfirmed::Unreachable(why)) => assert!(why.contains("`.authorities(..)`"), "{why}"),
        other => panic!("nobody is trusted, and the answer was {other:?}"),
    }
    std::fs::copy(certificates.authority(), &file).expect("it is there");
    timeout(PATIENCE, transport.link().up()).await.expect("the transport connects");
    assert_eq!(publish(&transport, &message("{}")).await, Ok(Confirmed::new()));
}

/// A server that lets in only those whom it knows takes messages from a client with a certificate, and from no other, who is told what to do.
pub async fn a_server_that_asks_for_a_certificate_is_shown_it<B: SecureBroker>() {
    let certificates = Certificates::new();
    let broker = B::start(&certificates, true).await;
    let stranger = broker.transport(&certificates.authority(), None).await;
    let error = told_of(&stranger, "`.certificate(..)`").await;
    assert!(matches!(publish(&stranger, &message("{}")).await, Err(NotConfirmed::Unreachable(_))), "{error}");
    let known = broker.transport(&certificates.authority(), Some(certificates.client())).await;
    timeout(PATIENCE, known.link().up()).await.expect("the transport connects");
    assert_eq!(publish(&known, &message("{}")).await, Ok(Confirmed::new()));
    assert!(!stranger.link().is_up());
}

/// Waits until the link's last error says this.
async fn told_of(transport: &impl Transport, word: &str) -> String {
    let told = async {
        loop {
            match transport.link().status().last_error {
                Some(error) if error.contains(word) => return error,
                _ => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let told = timeout(PATIENCE, told).await;
    told.unwrap_or_else(|_| panic!("`{word}` should have been told of: {:?}", transport.link().status()))
}

/// Writes a test for each clause about TLS, of a [`SecureBroker`](crate::contract::SecureBroker).
#[macro_export]
macro_rules! secure_contract {
    ($broker:ty) => {
        $crate::contract!(@ $broker:
            a_server_of_an_unknown_authority_is_refused_until_its_file_is_there,
            a_server_that_asks_for_a_certificate_is_shown_it,
        );
    };
}
