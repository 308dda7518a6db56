//! Listens for the wakes of other processes. A wake that is missed costs one poll, so every (re)connect is followed by a kick.

use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio_util::sync::CancellationToken;

use crate::backoff::Reconnect;
use crate::outbox::Outbox;

/// Listens until it is stopped, and connects again for as long as that takes.
pub(crate) async fn run(outbox: Outbox, stop: CancellationToken) {
    let mut reconnect = Reconnect::default();
    while !stop.is_cancelled() {
        let listened = tokio::select! {
            () = stop.cancelled() => return,
            listened = listen(&outbox, &mut reconnect) => listened,
        };
        if let Err(error) = listened {
            reconnect.failed("listen", &error, &stop).await;
        }
    }
}

async fn listen(outbox: &Outbox, reconnect: &mut Reconnect) -> Result<(), sqlx::Error> {
    // A pool of its own, of one connection: a listener must never share one.
    let options = outbox.pool().connect_options().as_ref().clone().application_name("outbox listen");
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&pool).await?;
    let wake = &outbox.inner().wake;
    sqlx::Executor::execute(&mut listener, "set idle_session_timeout = 0").await?;
    listener.listen(wake.channel()).await?;
    // Whatever was committed before this LISTEN took hold.
    wake.local.notify_one();
    loop {
        reconnect.succeeded();
        // `None`: it was disconnected, and has connected and listened again; in between anything may have been missed.
        listener.try_recv().await?;
        wake.local.notify_one();
    }
}
