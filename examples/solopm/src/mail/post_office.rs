//! A small mail server: it takes what it is given, keeps it, and can be told to be busy or to refuse.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// A client that says nothing for this long is hung up on.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest line, and the most of a mail, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// A mail that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// To whom, by the envelope.
    pub to: Vec<String>,
    /// Headers and text, as they came.
    pub data: String,
}

impl Received {
    /// A header's value, as far as its first line holds it.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let headers = self.data.lines().take_while(|line| !line.is_empty());
        headers.filter_map(|line| line.split_once(": ")).find(|(found, _)| *found == name).map(|(_, value)| value)
    }
}

/// What a server says to mail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mood {
    /// It takes it.
    #[default]
    Willing,
    /// Not now (451).
    Busy,
    /// Never (550).
    Unwilling,
}

/// A mail server on a port of its own. It ends with the handle.
#[derive(Debug)]
pub struct PostOffice {
    address: SocketAddr,
    desk: Arc<Desk>,
    _serving: JoinSet<()>,
}

#[derive(Debug)]
struct Desk {
    mood: watch::Sender<Mood>,
    received: watch::Sender<Vec<Received>>,
}

impl PostOffice {
    /// Opens one on a free port of this machine.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn open() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let desk = Arc::new(Desk { mood: watch::Sender::default(), received: watch::Sender::default() });
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&desk)));
        Ok(Self { address, desk, _serving: serving })
    }

    /// Where it is, for a [`Mailer`](super::Mailer).
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// From now on it says this to mail.
    pub fn set_mood(&self, mood: Mood) {
        self.desk.mood.send_replace(mood);
    }

    /// What it has taken so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.desk.received.borrow().clone()
    }

    /// Throws away what it has taken.
    pub fn forget(&self) {
        self.desk.received.send_replace(Vec::new());
    }

    /// Tells of each mail that comes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Vec<Received>> {
        self.desk.received.subscribe()
    }
}

async fn serve(listener: TcpListener, desk: Arc<Desk>) {
    let mut conversations = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let desk = Arc::clone(&desk);
        // A conversation that breaks off leaves nothing behind.
        conversations.spawn(async move { drop(converse(stream, &desk).await) });
        while conversations.try_join_next().is_some() {}
    }
}

/// One conversation, from greeting to farewell.
async fn converse(stream: TcpStream, desk: &Desk) -> io::Result<()> {
    let mut client = Client(BufReader::new(stream));
    client.say("220 solopm.example.com").await?;
    let mut to = Vec::new();
    while let Some(line) = client.line().await? {
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        let mood = *desk.mood.borrow();
        match (verb.as_str(), mood) {
            ("EHLO" | "HELO", _) => client.say("250 solopm.example.com").await?,
            ("RCPT", Mood::Busy) => client.say("451 try again later").await?,
            ("RCPT", Mood::Unwilling) => client.say("550 no such mailbox").await?,
            ("RCPT", Mood::Willing) => {
                to.extend(line.split(['<', '>']).nth(1).map(str::to_owned));
                client.say("250 ok").await?;
            }
            ("DATA", _) if to.is_empty() => client.say("503 to whom?").await?,
            ("DATA", _) => {
                client.say("354 go on").await?;
                let Some(data) = client.data().await? else { return Ok(()) };
                desk.received.send_modify(|all| all.push(Received { to: std::mem::take(&mut to), data }));
                client.say("250 taken").await?;
            }
            ("MAIL" | "RSET", _) => {
                to.clear();
                client.say("250 ok").await?;
            }
            ("NOOP", _) => client.say("250 ok").await?,
            ("QUIT", _) => return client.say("221 bye").await,
            _ => client.say("502 not here").await?,
        }
    }
    Ok(())
}

/// The other end of the line.
struct Client(BufReader<TcpStream>);

impl Client {
    async fn say(&mut self, words: &str) -> io::Result<()> {
        self.0.get_mut().write_all(format!("{words}\r\n").as_bytes()).await
    }

    /// The next line, without its end; `None` when the client is gone.
    async fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let read = timeout(PATIENCE, (&mut self.0).take(LONGEST).read_line(&mut line)).await??;
        Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// Lines up to a lone dot; a dot that begins one is doubled on the way.
    async fn data(&mut self) -> io::Result<Option<String>> {
        let mut data = String::new();
        while let Some(line) = self.line().await? {
            if line == "." {
                return Ok(Some(data));
            }
            data.push_str(line.strip_prefix('.').unwrap_or(&line));
            data.push('\n');
            if data.len() as u64 > LONGEST {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        Ok(None)
    }
}
