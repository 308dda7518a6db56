//! A connection on which everything that the broker says is made legible first, on its way over this machine's loopback.
//!
//! The client reads from a socket and from nothing else. So it is given one whose other end is ours, and between that and the broker, with
//! TLS or without, the frames are looked through. Only a source that has met a message that the client cannot read goes this way.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::io::{AsyncReadExt as _, AsyncWriteExt as _};
use lapin::tcp::{AMQPUriTcpExt as _, OwnedTLSConfig, TLSConfig};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{Connection, ConnectionProperties, runtime};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::legible::Frames;

/// How long our own two ends may take to find each other.
const LIMIT: Duration = Duration::from_secs(5);
/// By which our end knows the client's among whoever connects to a port of this machine.
const WORD: usize = 16;

/// As [`Connection::connect_uri_with_config`], by the hop.
pub(crate) async fn connect(
    uri: AMQPUri,
    properties: ConnectionProperties,
    tls: OwnedTLSConfig,
) -> lapin::Result<Connection> {
    let through = async move |uri: AMQPUri, runtime| {
        let broker = uri.connect_with_config_async(tls.as_ref(), &runtime).await?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut own = uri.clone();
        own.scheme = AMQPScheme::AMQP;
        Ipv4Addr::LOCALHOST.to_string().clone_into(&mut own.authority.host);
        own.authority.port = listener.local_addr()?.port();
        let mut client = own.connect_with_config_async(TLSConfig::default(), &runtime).await?;
        let word: [u8; WORD] = rand::random();
        client.write_all(&word).await?;
        client.flush().await?;
        let ours = timeout(LIMIT, accepted(&listener, &word)).await.map_err(io::Error::from)??;
        let (from_broker, to_broker) = broker.split();
        let (from_client, to_client) = ours.into_split();
        tokio::spawn(async move {
            // The end of one is the end of both.
            tokio::select! {
                _ = back(from_broker, to_client) => {}
                _ = there(from_client, to_broker) => {}
            }
        });
        Ok(client)
    };
    Connection::connector(uri, runtime::default_runtime()?, through, properties).await
}

/// The connection of whoever says the word.
async fn accepted(listener: &TcpListener, word: &[u8; WORD]) -> io::Result<TcpStream> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut said = [0; WORD];
        if stream.read_exact(&mut said).await.is_ok() && said == *word {
            stream.set_nodelay(true)?;
            return Ok(stream);
        }
    }
}

async fn back(
    mut from: impl futures_util::io::AsyncRead + Unpin,
    mut to: impl tokio::io::AsyncWrite + Unpin,
) -> io::Result<()> {
    let (mut frames, mut bytes) = (Frames::default(), vec![0; 32 << 10]);
    loop {
        let read = from.read(&mut bytes).await?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(&frames.pass(&bytes[..read])).await?;
    }
}

async fn there(
    mut from: impl tokio::io::AsyncRead + Unpin,
    mut to: impl futures_util::io::AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut bytes = vec![0; 32 << 10];
    loop {
        let read = from.read(&mut bytes).await?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..read]).await?;
        to.flush().await?;
    }
}
