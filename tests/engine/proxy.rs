//! Between the engine and the server: counts statements, and breaks connections where a test wants it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_testing::Sandbox;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A proxy in front of the tests' server. Its connections end with it.
pub struct Proxy {
    options: PgConnectOptions,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    statements: Mutex<Vec<String>>,
    /// Those of each transaction that was committed.
    transactions: Mutex<Vec<Vec<String>>>,
    /// Statements that begin so are executed and committed, and the answer is lost with the connection, so many times.
    lose: Mutex<HashMap<String, usize>>,
    /// When a statement that begins so arrives, everything stalls, as if the process had frozen in front of it.
    freeze: Mutex<Option<String>>,
    /// No new connections.
    refuses: AtomicBool,
    refused: AtomicUsize,
    accepted: AtomicUsize,
    /// Bytes a second that a connection carries to the client; zero is no bound.
    speed: AtomicUsize,
    /// Nothing passes either way.
    stalled: watch::Sender<bool>,
    /// Connections of this application name end.
    cut: watch::Sender<Option<String>>,
}

impl Proxy {
    pub async fn start() -> Self {
        Self::before(&Sandbox::url().await).await
    }

    /// In front of this server.
    pub async fn before(url: &str) -> Self {
        let target: PgConnectOptions = url.parse().unwrap();
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = (target.get_host().to_owned(), target.get_port());
        let shared = Arc::new(Shared::default());
        let of_loop = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if of_loop.refuses.load(Ordering::SeqCst) {
                    of_loop.refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                of_loop.accepted.fetch_add(1, Ordering::SeqCst);
                if let Ok(server) = TcpStream::connect((server.0.as_str(), server.1)).await {
                    tokio::spawn(pass(client, server, Arc::clone(&of_loop)));
                }
            }
        });
        Self { options: target.host("127.0.0.1").port(port).ssl_mode(PgSslMode::Disable), shared }
    }

    /// A pool that goes through the proxy.
    pub fn pool(&self) -> PgPool {
        PgPoolOptions::new().max_connections(4).connect_lazy_with(self.options.clone())
    }

    /// How many statements were executed that begin so.
    pub fn count(&self, beginning: &str) -> usize {
        self.shared.statements.lock().unwrap().iter().filter(|text| text.starts_with(beginning)).count()
    }

    /// The committed transactions in which a statement began so, each with all its statements.
    pub fn transactions_with(&self, beginning: &str) -> Vec<Vec<String>> {
        let all = self.shared.transactions.lock().unwrap();
        all.iter().filter(|one| one.iter().any(|text| text.starts_with(beginning))).cloned().collect()
    }

    /// The next `times` statements that begin so take place, and their answers are lost.
    pub fn lose_answers(&self, beginning: &str, times: usize) {
        self.shared.lose.lock().unwrap().insert(beginning.to_owned(), times);
    }

    /// How many answers are still to be lost.
    pub fn left_to_lose(&self, beginning: &str) -> usize {
        self.shared.lose.lock().unwrap().get(beginning).copied().unwrap_or_default()
    }

    pub fn refuse(&self, refuses: bool) {
        self.shared.refuses.store(refuses, Ordering::SeqCst);
    }

    /// How many connections were refused.
    pub fn refused(&self) -> usize {
        self.shared.refused.load(Ordering::SeqCst)
    }

    /// How many connections were made.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// From now on a connection carries so many bytes a second to the client.
    pub fn slow_down(&self, bytes: usize) {
        self.shared.speed.store(bytes, Ordering::SeqCst);
    }

    pub fn stall(&self, stalled: bool) {
        self.shared.stalled.send_replace(stalled);
    }

    /// Stalls as soon as a statement that begins so is sent.
    pub fn freeze_at(&self, beginning: &str) {
        *self.shared.freeze.lock().unwrap() = Some(beginning.to_owned());
    }

    pub fn is_stalled(&self) -> bool {
        *self.shared.stalled.borrow()
    }

    /// Ends the connections of this application name.
    pub fn cut(&self, application: &str) {
        self.shared.cut.send_replace(Some(application.to_owned()));
    }
}

async fn pass(client: TcpStream, server: TcpStream, shared: Arc<Shared>) {
    // A proxy that waits for more to send makes every round trip forty milliseconds longer.
    if client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).is_err() {
        return;
    }
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let Ok(greeting) = startup(&mut from_client).await else { return };
    if to_server.write_all(&greeting).await.is_err() {
        return;
    }
    let (doomed, in_transaction) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut cut = shared.cut.subscribe();
    let is_meant = |application: &Option<String>| {
        application.as_ref().is_some_and(|name| greeting.windows(name.len()).any(|part| part == name.as_bytes()))
    };
    // A cut of the past does not concern a connection that is made later.
    cut.mark_unchanged();
    let cut_now = async {
        loop {
            if cut.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            if is_meant(&cut.borrow_and_update()) {
                break;
            }
        }
    };
    // Whatever ends first ends both ways.
    tokio::select! {
        _ = upwards(from_client, to_server, &shared, (&doomed, &in_transaction)) => {}
        _ = downwards(from_server, to_client, &shared, (&doomed, &in_transaction)) => {}
        () = cut_now => {}
    }
}

/// The first message, which has no type.
async fn startup(client: &mut OwnedReadHalf) -> std::io::Result<Vec<u8>> {
    let mut message = vec![0; 4];
    client.read_exact(&mut message).await?;
    let length = u32::from_be_bytes([message[0], message[1], message[2], message[3]]) as usize;
    message.resize(length, 0);
    client.read_exact(&mut message[4..]).await?;
    Ok(message)
}

async fn message(from: &mut OwnedReadHalf) -> std::io::Result<Vec<u8>> {
    let mut message = vec![0; 5];
    from.read_exact(&mut message).await?;
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]) as usize;
    message.resize(length + 1, 0);
    from.read_exact(&mut message[5..]).await?;
    Ok(message)
}

async fn flowing(shared: &Shared) {
    // The sender is in `shared`, so this cannot fail.
    let _ = shared.stalled.subscribe().wait_for(|stalled| !stalled).await;
}

async fn upwards(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    shared: &Shared,
    (doomed, in_transaction): (&AtomicBool, &AtomicBool),
) -> std::io::Result<()> {
    let mut prepared = HashMap::new();
    let mut transaction = Vec::new();
    let mut doomed_at_commit = false;
    loop {
        let message = message(&mut client).await?;
        flowing(shared).await;
        let mut texts = message[5..].split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
        let executed = match (message[0], texts.next(), texts.next()) {
            (b'P', Some(name), Some(text)) => {
                prepared.insert(name, text);
                None
            }
            (b'B', _, Some(name)) => prepared.get(&name).cloned(),
            (b'Q', Some(text), _) => Some(text),
            _ => None,
        };
        if let Some(text) = executed {
            for (beginning, times) in shared.lose.lock().unwrap().iter_mut() {
                if text.starts_with(beginning) && *times > 0 {
                    *times -= 1;
                    // In a transaction it is the answer to the commit that tells.
                    if in_transaction.load(Ordering::SeqCst) {
                        doomed_at_commit = true;
                    } else {
                        doomed.store(true, Ordering::SeqCst);
                    }
                }
            }
            if !in_transaction.load(Ordering::SeqCst) {
                transaction.clear();
            }
            transaction.push(text.clone());
            if text.eq_ignore_ascii_case("commit") {
                shared.transactions.lock().unwrap().push(std::mem::take(&mut transaction));
                doomed.fetch_or(doomed_at_commit, Ordering::SeqCst);
            }
            if shared.freeze.lock().unwrap().as_ref().is_some_and(|beginning| text.starts_with(beginning)) {
                shared.stalled.send_replace(true);
            }
            shared.statements.lock().unwrap().push(text);
        }
        flowing(shared).await;
        server.write_all(&message).await?;
    }
}

async fn downwards(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    shared: &Shared,
    (doomed, in_transaction): (&AtomicBool, &AtomicBool),
) -> std::io::Result<()> {
    loop {
        let message = message(&mut server).await?;
        flowing(shared).await;
        if let Some(millis) = (message.len() * 1000).checked_div(shared.speed.load(Ordering::SeqCst)) {
            tokio::time::sleep(Duration::from_millis(millis as u64)).await;
        }
        if message[0] == b'Z' {
            in_transaction.store(message[5] != b'I', Ordering::SeqCst);
        }
        if !doomed.load(Ordering::SeqCst) {
            client.write_all(&message).await?;
        } else if message[0] == b'Z' {
            // The server is done, and has committed; the client never hears of it.
            return Ok(());
        }
    }
}
