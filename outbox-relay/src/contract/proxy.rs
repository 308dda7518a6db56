//! A network between a transport and its server.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Passes connections on to a server. It can lose what the server says, pass nothing for a while, and cut everything.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    weather: watch::Sender<Weather>,
    listener: AbortHandle,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Weather {
    swallows_answers: bool,
    /// Nothing passes, and nothing is lost: it waits in the network.
    is_silent: bool,
    /// Connections of an earlier cut are gone.
    cuts: u64,
}

impl Proxy {
    /// A proxy to this server, on a port of its own.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
        let address = listener.local_addr().expect("it listens");
        let weather = watch::Sender::new(Weather::default());
        let seen = weather.clone();
        let task = async move {
            while let Ok((client, _)) = listener.accept().await {
                let weather = seen.subscribe();
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        pass(client, server, weather).await;
                    }
                });
            }
        };
        Self { address, weather, listener: tokio::spawn(task).abort_handle() }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether what the server says is lost.
    pub fn swallow_answers(&self, swallow: bool) {
        self.weather.send_modify(|weather| weather.swallows_answers = swallow);
    }

    /// Whether nothing passes, in either direction. What was said meanwhile arrives when it is over, where the connection still stands.
    pub fn silence(&self, silent: bool) {
        self.weather.send_modify(|weather| weather.is_silent = silent);
    }

    /// Ends every connection.
    pub fn cut(&self) {
        self.weather.send_modify(|weather| weather.cuts += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listener.abort();
        self.cut();
    }
}

async fn pass(client: TcpStream, server: TcpStream, mut weather: watch::Receiver<Weather>) {
    let cuts = weather.borrow().cuts;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (there, back) = (weather.clone(), weather.clone());
    tokio::select! {
        () = copy(from_client, to_server, there, |_| false) => {}
        () = copy(from_server, to_client, back, |weather| weather.swallows_answers) => {}
        _ = weather.wait_for(|now| now.cuts != cuts) => {}
    }
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut weather: watch::Receiver<Weather>,
    loses: impl Fn(&Weather) -> bool,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        // Its sender lives as long as the listener.
        let Ok(is_lost) = weather.wait_for(|now| !now.is_silent).await.map(|now| loses(&now)) else { return };
        if !is_lost && to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
