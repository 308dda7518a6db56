//! One connection through the proxy.

use std::collections::HashMap;
use std::io::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::conversation::{Conversation, is_part};
use super::point::{Side, Then, Traps};
use super::protocol::{Message, Opening};
use super::weather::{Forecast, Way, Weather};

/// Messages that are on their way in one direction, at most.
const IN_FLIGHT: usize = 256;

/// What the connections of a proxy have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) target: Mutex<(String, u16)>,
    pub(super) forecast: watch::Sender<Forecast>,
    pub(super) traps: Traps,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Executions by application and statement.
    pub(super) statements: HashMap<(String, String), u64>,
    /// Open sessions by application.
    pub(super) sessions: HashMap<String, usize>,
    /// Sessions that were ever begun, by application.
    pub(super) begun: HashMap<String, u64>,
    /// Connections that were reset when they were made.
    pub(super) refused: u64,
}

impl Shared {
    pub(super) fn new(target: (String, u16)) -> Self {
        Self {
            target: Mutex::new(target),
            forecast: watch::Sender::default(),
            traps: Traps::default(),
            counts: Mutex::default(),
        }
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<TcpStream> {
        let (host, port) = self.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let server = TcpStream::connect((host.as_str(), port)).await?;
        server.set_nodelay(true)?;
        Ok(server)
    }

    /// Counts it, and has it reset when it is dropped.
    fn refuse(&self, client: &TcpStream) -> Result<()> {
        self.counts().refused += 1;
        client.set_zero_linger()
    }

    /// Waits until the weather of this application is as wanted.
    async fn until(&self, application: Option<&str>, wanted: impl Fn(Weather) -> bool) {
        // Never an error: the sender is here.
        let _ = self.forecast.subscribe().wait_for(|forecast| wanted(forecast.of(application))).await;
    }
}

/// Serves one client to the end. An error is the end of that connection, and of nothing else.
pub(super) async fn serve(mut client: TcpStream, shared: Arc<Shared>) -> Result<()> {
    client.set_nodelay(true)?;
    shared.until(None, |weather| !weather.silent).await;
    if shared.forecast.borrow().of(None).refuses {
        return shared.refuse(&client);
    }
    let (bytes, application) = loop {
        match Opening::read(&mut client).await? {
            // Not from here to the server; both ends are on this machine as a rule.
            Opening::Encryption => client.write_all(b"N").await?,
            Opening::Cancel(bytes) => {
                let mut server = shared.connect().await?;
                server.write_all(&bytes).await?;
                return copy_bidirectional(&mut client, &mut server).await.map(drop);
            }
            Opening::Session { bytes, application } => break (bytes, application),
        }
    };
    shared.until(Some(&application), |weather| !weather.silent).await;
    if shared.forecast.borrow().of(Some(&application)).refuses {
        return shared.refuse(&client);
    }
    let Ok(mut server) = shared.connect().await else { return client.set_zero_linger() };
    server.write_all(&bytes).await?;
    let session = Session::begin(&shared, application);
    if session.relay(&mut client, &mut server).await == End::Cut {
        client.set_zero_linger()?;
        server.set_zero_linger()?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// One side closed it, and the other side is to know no more than that.
    Closed,
    /// Reset both sides.
    Cut,
}

/// A session between a client and the server. It is counted as open as long as this value.
struct Session<'a> {
    shared: &'a Shared,
    application: String,
    /// The weather when it began.
    begun: Weather,
    conversation: Mutex<Conversation>,
}

impl<'a> Session<'a> {
    fn begin(shared: &'a Shared, application: String) -> Self {
        let mut counts = shared.counts();
        *counts.sessions.entry(application.clone()).or_default() += 1;
        *counts.begun.entry(application.clone()).or_default() += 1;
        drop(counts);
        let begun = shared.forecast.borrow().of(Some(&application));
        Self { shared, application, begun, conversation: Mutex::new(Conversation::new()) }
    }

    async fn relay(&self, client: &mut TcpStream, server: &mut TcpStream) -> End {
        let cut = self.shared.until(Some(&self.application), |weather| weather.cuts != self.begun.cuts);
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let (up, up_queue) = mpsc::channel(IN_FLIGHT);
        let (down, down_queue) = mpsc::channel(IN_FLIGHT);
        let up = both(self.requests(from_client, up), self.deliver(Way::ToServer, up_queue, to_server));
        let down = both(self.answers(from_server, down), self.deliver(Way::ToClient, down_queue, to_client));
        tokio::select! {
            end = up => end,
            end = down => end,
            () = cut => End::Cut,
        }
    }

    /// Reads what the client says, and stops where a point before a statement is set.
    async fn requests(&self, from: impl AsyncRead + Unpin, queue: Queue) -> End {
        let mut from = BufReader::new(from);
        let (mut bytes, mut executed) = (Vec::new(), Vec::new());
        while let Ok(message) = Message::read(&mut from).await {
            executed.extend(self.conversation().client_says(&message));
            bytes.extend_from_slice(message.bytes());
            if is_part(&message) {
                continue;
            }
            for executed in std::mem::take(&mut executed) {
                if self.shared.traps.pass(Side::Before, &self.application, &executed).await == Then::Cut {
                    return End::Cut;
                }
                let key = (self.application.clone(), executed.name);
                *self.shared.counts().statements.entry(key).or_default() += 1;
            }
            if queue.send((Instant::now(), std::mem::take(&mut bytes))).await.is_err() {
                break;
            }
        }
        End::Closed
    }

    /// Reads what the server says, and keeps back an answer for which a point after its statement is set.
    async fn answers(&self, from: impl AsyncRead + Unpin, queue: Queue) -> End {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        while let Ok(message) = Message::read(&mut from).await {
            bytes.extend_from_slice(message.bytes());
            if message.is_ready() {
                let answered = self.conversation().answered(&message);
                for executed in answered {
                    if self.shared.traps.pass(Side::After, &self.application, &executed).await == Then::Cut {
                        return End::Cut;
                    }
                }
            } else if !message.begins_copy() && self.is_kept_back() {
                continue;
            }
            if queue.send((Instant::now(), std::mem::take(&mut bytes))).await.is_err() {
                return End::Closed;
            }
        }
        if !bytes.is_empty() {
            // The server has ended in the middle of an answer that was kept back. The other end may be gone as well.
            let _ = queue.send((Instant::now(), bytes)).await;
        }
        End::Closed
    }

    fn is_kept_back(&self) -> bool {
        let conversation = self.conversation();
        self.shared.traps.concern(Side::After, &self.application, conversation.being_answered())
    }

    /// Writes what is due, in its order, and nothing during silence: that comes later, as what a network repeats does.
    async fn deliver(
        &self,
        way: Way,
        mut queue: mpsc::Receiver<(Instant, Vec<u8>)>,
        mut to: impl AsyncWrite + Unpin,
    ) -> End {
        while let Some((sent, bytes)) = queue.recv().await {
            sleep_until(sent + self.weather().delay(way)).await;
            sleep(self.weather().transfer(way, bytes.len())).await;
            self.until_heard().await;
            if to.write_all(&bytes).await.is_err() {
                return End::Closed;
            }
        }
        // The end of a connection is not heard of during silence either.
        self.until_heard().await;
        // It may have been closed from the other end just now.
        let _ = to.shutdown().await;
        End::Closed
    }

    async fn until_heard(&self) {
        let is_heard = |weather: Weather| !weather.silent && weather.forgotten == self.begun.forgotten;
        self.shared.until(Some(&self.application), is_heard).await;
    }

    fn weather(&self) -> Weather {
        self.shared.forecast.borrow().of(Some(&self.application))
    }

    fn conversation(&self) -> MutexGuard<'_, Conversation> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.shared.counts().sessions.get_mut(&self.application) {
            *open -= 1;
        }
    }
}

type Queue = mpsc::Sender<(Instant, Vec<u8>)>;

/// Reading ends first, as a rule; what was read is written all the same.
async fn both(read: impl Future<Output = End>, write: impl Future<Output = End>) -> End {
    let mut write = std::pin::pin!(write);
    tokio::select! {
        end = read => if end == End::Cut { End::Cut } else { write.await },
        end = &mut write => end,
    }
}
