//! **connect**: to an address that has been checked, and to no other.
//!
//! A name is looked up once, what comes back is checked, and one of the checked addresses is connected to: a name that means another
//! address a moment later changes nothing. There is no proxy, because one would look the name up for itself, and the environment's is
//! not read.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::target::{Rules, Target};

/// How many of a name's addresses are tried.
const MOST_ADDRESSES: usize = 4;

/// Looks names up.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of this name. It is given up with the connect timeout.
    fn resolve<'a>(&'a self, host: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;
}

/// As the operating system does.
#[derive(Debug)]
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// A certificate that is none.
#[derive(Debug, thiserror::Error)]
#[error("the certificate cannot be read as DER")]
pub struct CertificateError(#[from] rustls::Error);

/// Why there is no connection. No more of a URL is in it than its host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("no connection within {0:?}")]
    Deadline(Duration),
    #[error("the name `{host}` cannot be looked up: {source}")]
    Lookup { host: String, source: io::Error },
    #[error("the name `{0}` has no address")]
    NoAddress(String),
    #[error("refused: `{host}` leads to {address}, which is no public address")]
    Private { host: String, address: IpAddr },
    #[error("no connection to {address}: {source}")]
    Refused { address: SocketAddr, source: io::Error },
    #[error("`{0}` cannot be the name of a certificate")]
    Name(String, #[source] InvalidDnsNameError),
    #[error("no TLS with {address}: {source}")]
    Tls { address: SocketAddr, source: io::Error },
}

/// What a request goes over.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Makes connections, each a new one: an endpoint gets a call now and then, and an idle connection would be of use to nobody.
pub(crate) struct Connector {
    rules: Rules,
    resolver: Arc<dyn Resolve>,
    tls: TlsConnector,
    limit: Duration,
}

impl Connector {
    pub(crate) fn new(
        rules: Rules,
        resolver: Arc<dyn Resolve>,
        roots: Vec<Vec<u8>>,
        limit: Duration,
    ) -> Result<Self, CertificateError> {
        let mut trusted = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for root in roots {
            trusted.add(CertificateDer::from(root))?;
        }
        // Named, because a process-wide default that somebody else has set is none of ours.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = config.with_root_certificates(trusted).with_no_client_auth();
        Ok(Self { rules, resolver, tls: TlsConnector::from(Arc::new(config)), limit })
    }

    /// A connection to the target, encrypted if it says so.
    pub(crate) async fn connect(&self, target: &Target) -> Result<Box<dyn Stream>, ConnectError> {
        timeout(self.limit, self.connected(target)).await.unwrap_or(Err(ConnectError::Deadline(self.limit)))
    }

    async fn connected(&self, target: &Target) -> Result<Box<dyn Stream>, ConnectError> {
        let begun = Instant::now();
        let addresses = self.addresses(target).await?;
        let (tcp, address) = self.dial(&addresses, target.port(), begun + self.limit).await?;
        // A call is one small request: nothing is gained by waiting for more to send.
        let _ = tcp.set_nodelay(true);
        if !target.is_https() {
            return Ok(Box::new(tcp));
        }
        let name = ServerName::try_from(target.host().to_owned())
            .map_err(|source| ConnectError::Name(target.host().to_owned(), source))?;
        let tls = self.tls.connect(name, tcp).await.map_err(|source| ConnectError::Tls { address, source })?;
        Ok(Box::new(tls))
    }

    /// The checked addresses of the target. Those that are not public are left out; a name that has no others is refused.
    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, ConnectError> {
        let host = target.host().to_owned();
        let found = match target.literal() {
            Some(address) => vec![address],
            None => match self.resolver.resolve(&host).await {
                Ok(found) => found,
                Err(source) => return Err(ConnectError::Lookup { host, source }),
            },
        };
        let (mut permitted, kept): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|address| self.rules.permit(*address));
        permitted.truncate(MOST_ADDRESSES);
        match (permitted.is_empty(), kept.first()) {
            (false, _) => Ok(permitted),
            (true, Some(address)) => Err(ConnectError::Private { host, address: *address }),
            (true, None) => Err(ConnectError::NoAddress(host)),
        }
    }

    /// The first that answers. One that does not leaves the others their part of the time.
    async fn dial(
        &self,
        addresses: &[IpAddr],
        port: u16,
        deadline: Instant,
    ) -> Result<(TcpStream, SocketAddr), ConnectError> {
        let mut failed = ConnectError::Deadline(self.limit);
        for (place, address) in addresses.iter().enumerate() {
            let address = SocketAddr::new(*address, port);
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(addresses.len() - place).unwrap_or(1);
            match timeout_at(Instant::now() + share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(source)) => failed = ConnectError::Refused { address, source },
                Err(_) => failed = ConnectError::Refused { address, source: io::ErrorKind::TimedOut.into() },
            }
        }
        Err(failed)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("rules", &self.rules).finish_non_exhaustive()
    }
}
