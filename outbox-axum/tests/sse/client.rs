//! A client of server-sent events that sees every byte.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use outbox_testing::DEADLINE;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// One frame, field by field. Comments are the field of no name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame(pub BTreeMap<String, String>);

impl Frame {
    fn read(text: &str) -> Self {
        let mut fields = BTreeMap::new();
        for line in text.lines() {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            let field: &mut String = fields.entry(name.to_owned()).or_default();
            if !field.is_empty() {
                field.push('\n');
            }
            field.push_str(value);
        }
        Self(fields)
    }

    pub fn field(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub fn event(&self) -> &str {
        self.field("event")
    }

    pub fn data(&self) -> &str {
        self.field("data")
    }

    pub fn id(&self) -> &str {
        self.field("id")
    }

    /// The data is for nobody: a heartbeat, or the greeting.
    pub fn is_silent(&self) -> bool {
        !self.0.contains_key("data")
    }
}

pub struct Client {
    socket: TcpStream,
    pub head: String,
    raw: Vec<u8>,
    body: Vec<u8>,
    ended: bool,
}

impl Client {
    /// Asks for `path`, with these header lines, and reads the head of the answer.
    pub async fn get(server: SocketAddr, path: &str, headers: &[u8]) -> Self {
        let mut client = Self::ask(server, path, headers, None).await;
        client.read_head().await;
        client
    }

    /// The same without reading anything, into a buffer of so many bytes.
    pub async fn ask(server: SocketAddr, path: &str, headers: &[u8], buffer: Option<u32>) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(bytes) = buffer {
            socket.set_recv_buffer_size(bytes).unwrap();
        }
        let mut socket = socket.connect(server).await.unwrap();
        let mut request = format!("GET {path} HTTP/1.1\r\nhost: test\r\naccept: text/event-stream\r\n").into_bytes();
        request.extend_from_slice(headers);
        request.extend_from_slice(b"\r\n");
        socket.write_all(&request).await.unwrap();
        Self { socket, head: String::new(), raw: Vec::new(), body: Vec::new(), ended: false }
    }

    pub async fn read_head(&mut self) {
        loop {
            if let Some(end) = find(&self.raw, b"\r\n\r\n") {
                let rest = self.raw.split_off(end + 4);
                self.head = String::from_utf8(std::mem::replace(&mut self.raw, rest)).unwrap().to_lowercase();
                return;
            }
            assert!(self.read().await, "the server closed before its answer");
        }
    }

    /// The next frame; `None` when the response has ended.
    pub async fn frame(&mut self) -> Option<Frame> {
        timeout(DEADLINE, self.read_frame()).await.expect("the server sends something")
    }

    async fn read_frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = find(&self.body, b"\n\n") {
                let rest = self.body.split_off(end + 2);
                let frame = std::mem::replace(&mut self.body, rest);
                return Some(Frame::read(std::str::from_utf8(&frame).unwrap()));
            }
            if self.ended {
                assert!(self.body.is_empty(), "the response ends in the middle of a frame");
                return None;
            }
            if !self.unchunk() && !self.read().await {
                self.ended = true;
            }
        }
    }

    /// The next frame that says something.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            let frame = self.frame().await?;
            if !frame.is_silent() {
                return Some(frame);
            }
        }
    }

    /// The next frame, which is an event of the application's.
    pub async fn event(&mut self) -> Frame {
        let frame = self.next().await.expect("an event comes");
        assert!(frame.event() != "refetch", "{frame:?}");
        frame
    }

    /// The next frame, which says to read anew, and why.
    pub async fn refetch(&mut self) -> String {
        let frame = self.next().await.expect("a frame comes");
        assert_eq!(frame.event(), "refetch", "{frame:?}");
        let reason = frame.data().strip_prefix(r#"{"reason":""#).and_then(|rest| rest.strip_suffix(r#""}"#));
        reason.unwrap_or_else(|| panic!("{frame:?}")).to_owned()
    }

    /// Moves one chunk from the wire to the body, if a whole one is there.
    fn unchunk(&mut self) -> bool {
        let Some(line) = find(&self.raw, b"\r\n") else { return false };
        let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..line]).unwrap(), 16).unwrap();
        let end = line + 2 + size + 2;
        if self.raw.len() < end {
            return false;
        }
        self.body.extend_from_slice(&self.raw[line + 2..line + 2 + size]);
        self.raw.drain(..end);
        self.ended |= size == 0;
        true
    }

    async fn read(&mut self) -> bool {
        self.socket.read_buf(&mut self.raw).await.is_ok_and(|bytes| bytes > 0)
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
