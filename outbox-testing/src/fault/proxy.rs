//! A proxy between a program and PostgreSQL, on this machine, that can be told to be a bad network.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::sync::oneshot;

use super::point::{Action, Point, Then, Trap};
use super::relay::{Shared, serve};
use super::weather::{Way, Weather};

/// A proxy in front of a PostgreSQL. It works on a thread of its own, and its connections end with it.
///
/// ```no_run
/// use std::time::Duration;
/// use outbox_testing::fault::{Proxy, Way};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let proxy = Proxy::start(&outbox_testing::Sandbox::url().await)?;
/// let pool = sqlx::PgPool::connect(&proxy.url()).await?;
///
/// proxy.all().delay(Way::ToClient, Duration::from_millis(80));
/// proxy.of("outbox settle").black_hole();
/// // what your program does meanwhile is what it does when that happens
/// proxy.of("outbox settle").clear();
/// assert!(proxy.of("outbox settle").count("settle") > 0);
/// # drop(pool);
/// # Ok(())
/// # }
/// ```
///
/// Connections are not encrypted, from the program to the proxy and from there to the server.
pub struct Proxy {
    options: PgConnectOptions,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// A proxy to the server that `url` names, on a free port of this machine's loopback address.
    ///
    /// # Errors
    /// When `url` is no PostgreSQL URL with a host, or when the system gives no port or no thread.
    pub fn start(url: &str) -> Result<Self> {
        let (options, target) = target(url)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(target));
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("fault proxy".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, of_thread) => {}
                    _ = stopped => {}
                }
            });
            // A callback that hangs is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self { options: through(options, address), shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Where to connect instead of the server's own URL: the same database and user.
    #[must_use]
    pub fn url(&self) -> String {
        self.options.to_url_lossy().to_string()
    }

    /// The same as options, for instance to set an `application_name`.
    #[must_use]
    pub fn options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    /// New connections go to the server that `url` names from now on, as when a name or an address moves in a failover.
    ///
    /// # Errors
    /// When `url` is no PostgreSQL URL with a host.
    pub fn point_to(&self, url: &str) -> Result<()> {
        let (_, target) = target(url)?;
        *self.shared.target.lock().unwrap_or_else(PoisonError::into_inner) = target;
        Ok(())
    }

    /// All connections, to be disturbed or counted.
    #[must_use]
    pub fn all(&self) -> Connections<'_> {
        Connections { shared: &self.shared, application: None }
    }

    /// The connections of this `application_name` only. The engine's own are called `outbox claim`, `outbox settle`,
    /// `outbox renew`, `outbox upkeep`, and so on.
    #[must_use]
    pub fn of<'a>(&'a self, application: &'a str) -> Connections<'a> {
        Connections { shared: &self.shared, application: Some(application) }
    }

    /// How many new connections were reset, because that was asked for by `refuse`.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.shared.counts().refused
    }

    /// Holds the statement, or its answer, at a point, until the trap is released or cut.
    #[must_use = "dropping the trap takes it away"]
    pub fn hold_at(&self, point: Point) -> Trap {
        self.shared.traps.set(point, Action::Hold)
    }

    /// Loses the statement, or its answer, at a point, and resets its connection on both sides.
    #[must_use = "dropping the trap takes it away"]
    pub fn cut_at(&self, point: Point) -> Trap {
        self.shared.traps.set(point, Action::Do(Then::Cut))
    }

    /// Lets everything pass at a point, and counts how often it was reached.
    #[must_use = "dropping the trap takes it away"]
    pub fn watch_at(&self, point: Point) -> Trap {
        self.shared.traps.set(point, Action::Do(Then::Pass))
    }

    /// Calls `callback` at a point, while the statement or its answer is held, and does what it says then.
    #[must_use = "dropping the trap takes it away"]
    pub fn call_at(&self, point: Point, callback: impl FnMut() -> Then + Send + 'static) -> Trap {
        self.shared.traps.set(point, Action::Call(Arc::new(Mutex::new(callback))))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Neither end is there only when the thread has ended already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Connections of a [`Proxy`], present and future. What is set for all and for an application adds up.
#[derive(Clone, Copy, Debug)]
pub struct Connections<'a> {
    shared: &'a Shared,
    application: Option<&'a str>,
}

impl Connections<'_> {
    /// Each message takes this much longer this way. Zero ends that.
    pub fn delay(&self, way: Way, delay: Duration) {
        self.change(|weather| match way {
            Way::ToServer => weather.to_server = delay,
            Way::ToClient => weather.to_client = delay,
        });
    }

    /// Each connection carries so many bytes a second to the program: a slow link. Zero ends that.
    pub fn throttle(&self, bytes_per_second: u64) {
        self.change(|weather| weather.rate = bytes_per_second);
    }

    /// Nothing passes any more, and neither side is told, not even that the other one has closed. New connections are accepted
    /// and get no answer. After [`clear`](Self::clear), what was held arrives late.
    pub fn black_hole(&self) {
        self.change(|weather| weather.silent = true);
    }

    /// Resets open connections on both sides. New ones are as good as ever.
    pub fn cut(&self) {
        self.change(|weather| weather.cuts += 1);
    }

    /// Open connections are as in a [`black_hole`](Self::black_hole) for good, until they are cut, and new ones are as good as
    /// ever: what a firewall that has forgotten them leaves, or a failover to another machine.
    pub fn forget(&self) {
        self.change(|weather| weather.forgotten += 1);
    }

    /// Resets new connections at once. Open ones stay as they are.
    pub fn refuse(&self) {
        self.change(|weather| weather.refuses = true);
    }

    /// No delay, no slowness, no silence, no refusal any more. What was set for all, or for one application, is cleared there.
    pub fn clear(&self) {
        self.change(|weather| {
            *weather = Weather { cuts: weather.cuts, forgotten: weather.forgotten, ..Weather::default() };
        });
    }

    /// How often the statement of this name has passed on its way to the server.
    #[must_use]
    pub fn count(&self, statement: &str) -> u64 {
        self.statements().get(statement).copied().unwrap_or_default()
    }

    /// How often each statement has passed on its way to the server, by name.
    #[must_use]
    pub fn statements(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for ((application, statement), times) in &self.shared.counts().statements {
            if self.application.is_none_or(|name| name == application) {
                *sums.entry(statement.clone()).or_default() += times;
            }
        }
        sums
    }

    /// How many sessions are open.
    #[must_use]
    pub fn open(&self) -> usize {
        let counts = self.shared.counts();
        counts.sessions.iter().filter(|(name, _)| self.application.is_none_or(|own| own == *name)).map(|(_, n)| n).sum()
    }

    /// How many sessions were ever begun.
    #[must_use]
    pub fn made(&self) -> u64 {
        let counts = self.shared.counts();
        counts.begun.iter().filter(|(name, _)| self.application.is_none_or(|own| own == *name)).map(|(_, n)| n).sum()
    }

    fn change(&self, change: impl FnOnce(&mut Weather)) {
        self.shared.forecast.send_modify(|forecast| change(forecast.entry(self.application)));
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    loop {
        // An error is the connection's, which was gone before it was accepted.
        if let Ok((client, _)) = listener.accept().await {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                // An error is the end of that connection.
                let _ = serve(client, shared).await;
            });
        }
    }
}

fn target(url: &str) -> Result<(PgConnectOptions, (String, u16))> {
    let options: PgConnectOptions = url.parse().map_err(|error| Error::new(ErrorKind::InvalidInput, error))?;
    if options.get_socket().is_some() || options.get_host().starts_with('/') {
        return Err(Error::new(ErrorKind::InvalidInput, "the proxy needs a host and a port, not a socket's folder"));
    }
    let target = (options.get_host().to_owned(), options.get_port());
    Ok((options, target))
}

fn through(options: PgConnectOptions, address: SocketAddr) -> PgConnectOptions {
    options.host(&address.ip().to_string()).port(address.port()).ssl_mode(PgSslMode::Disable)
}
