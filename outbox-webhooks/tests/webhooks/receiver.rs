//! An HTTP server on loopback that keeps what it was sent, and answers as it is told: well, badly, or not at all.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use outbox_testing::eventually;
use outbox_webhooks::{Secret, Verifier, VerifyError};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// One request, as it came.
#[derive(Debug, Clone)]
pub struct Request {
    /// `POST /hook HTTP/1.1`
    pub line: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// What a receiver with this secret makes of it.
    pub fn verify(&self, secret: &Secret) -> Result<(), VerifyError> {
        let header = |name: &str| self.headers.get(name).map(String::as_str);
        Verifier::new([secret.clone()]).verify(header, &self.body).map(drop)
    }
}

/// What the receiver does about a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// These bytes, then the end of the connection.
    Raw(String),
    /// Nothing, for as long as the sender waits.
    Never,
    /// A head that promises a body, and a part of it.
    Cut(u16),
    /// The same, and then nothing.
    Stall(u16),
    /// A body without an end.
    Endless(u16),
    /// One byte of a head at a time, without an end.
    Drip,
}

impl Reply {
    pub fn status(status: u16) -> Self {
        Self::with(status, "")
    }

    /// A status with these header lines, each with its `\r\n`.
    pub fn with(status: u16, headers: &str) -> Self {
        Self::Raw(format!("HTTP/1.1 {status} Word\r\ncontent-length: 4\r\n{headers}\r\nbody"))
    }
}

#[derive(Debug, Default)]
struct Shared {
    requests: Vec<Request>,
    connections: usize,
    sent: usize,
    replies: VecDeque<Reply>,
}

/// The server. It goes with its handle.
#[derive(Debug)]
pub struct Receiver {
    pub address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    _tasks: JoinSet<()>,
}

impl Receiver {
    /// One that answers 200.
    pub async fn new() -> Self {
        Self::start(None).await
    }

    /// One that answers these, in turn, and the last of them again and again.
    pub async fn answering(replies: impl IntoIterator<Item = Reply>) -> Self {
        let receiver = Self::new().await;
        receiver.answer(replies);
        receiver
    }

    pub async fn start(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, Arc::clone(&shared), tls));
        Self { address, shared, _tasks: tasks }
    }

    pub fn answer(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.lock().unwrap().replies = replies.into_iter().collect();
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook?from=test", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().unwrap().requests.clone()
    }

    /// How many connections were made, whatever came over them.
    pub fn connections(&self) -> usize {
        self.shared.lock().unwrap().connections
    }

    /// How much of endless bodies somebody took.
    pub fn sent(&self) -> usize {
        self.shared.lock().unwrap().sent
    }

    pub fn only(&self) -> Request {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:#?}");
        requests.into_iter().next().unwrap()
    }

    pub async fn until(&self, requests: usize) {
        let what = format!("the receiver has {requests} requests");
        eventually(&what, async || (self.requests().len() >= requests).then_some(())).await;
    }
}

async fn serve(listener: TcpListener, shared: Arc<Mutex<Shared>>, tls: Option<TlsAcceptor>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        shared.lock().unwrap().connections += 1;
        let (shared, tls) = (Arc::clone(&shared), tls.clone());
        connections.spawn(async move {
            match tls {
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        converse(stream, &shared).await;
                    }
                }
                None => converse(stream, &shared).await,
            }
        });
    }
}

async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, shared: &Mutex<Shared>) {
    let Some(request) = read(&mut stream).await else { return };
    let reply = {
        let mut shared = shared.lock().unwrap();
        shared.requests.push(request);
        let more = shared.replies.len() > 1;
        let next = if more { shared.replies.pop_front() } else { shared.replies.front().cloned() };
        next.unwrap_or_else(|| Reply::status(200))
    };
    // A sender that goes away in the middle is what some of the tests are about.
    let _ = say(&mut stream, reply, shared).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let header = |line: &str| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
    let headers: BTreeMap<_, _> = lines.filter_map(header).collect();
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = bytes[head_end + 4..].to_vec();
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { line, headers, body })
}

async fn say(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    reply: Reply,
    shared: &Mutex<Shared>,
) -> std::io::Result<()> {
    match reply {
        Reply::Raw(text) => stream.write_all(text.as_bytes()).await,
        Reply::Never => until_left(stream).await,
        Reply::Cut(status) => stream.write_all(beginning(status).as_bytes()).await,
        Reply::Stall(status) => {
            stream.write_all(beginning(status).as_bytes()).await?;
            until_left(stream).await
        }
        Reply::Endless(status) => {
            // Ten gigabytes are promised, and as many are sent as somebody takes.
            let head = format!("HTTP/1.1 {status} Word\r\ncontent-length: 10000000000\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 8_192]).await?;
                shared.lock().unwrap().sent += 8_192;
            }
        }
        Reply::Drip => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await?;
            loop {
                stream.write_all(b"x").await?;
                stream.flush().await?;
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    }
}

fn beginning(status: u16) -> String {
    format!("HTTP/1.1 {status} Word\r\ncontent-length: 1000\r\n\r\nthe beginning")
}

async fn until_left(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
    let mut nothing = Vec::new();
    stream.read_to_end(&mut nothing).await.map(drop)
}
