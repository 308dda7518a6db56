//! A second server that follows the first one, and takes over.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::bounded::GLANCE;
use super::error::ServerError;
use super::{Own, Server};

/// Replay of what has been received is part of it.
const PROMOTION_LIMIT: Duration = Duration::from_mins(1);

/// As the replica calls itself to the primary.
const NAME: &str = "replica";

/// What a primary waits for before it answers that a transaction is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// Until the replica has it as well: a failover loses nothing that was answered. Without a running replica, commits wait.
    Synchronous,
    /// Only for itself: a failover loses what the replica has not received.
    Asynchronous,
}

impl Server {
    /// A second server that follows this one, read-only until [`Server::promote`]. This one is restarted, which cuts its
    /// connections; both keep their URLs.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotOurs`] for a database that was given by URL, else what prevented the start of either.
    pub fn replica(&mut self, replication: Replication) -> Result<Self, ServerError> {
        self.stop()?;
        let own = self.own()?;
        let mut cluster = own.cluster.copy()?;
        cluster.mark("standby.signal")?;
        let address = format!("host=127.0.0.1 port={} user=postgres application_name={NAME}", own.cluster.port());
        cluster.set("primary_conninfo", address);
        // The status that it reports tells the primary how far it is; the default of 10 s is for far away ones.
        cluster.set("wal_receiver_status_interval", "1s");
        if replication == Replication::Synchronous {
            own.cluster.set("synchronous_standby_names", NAME);
            // A throwaway server has it off, and then nobody waits for anybody.
            own.cluster.set("synchronous_commit", "on");
        }
        own.running = Some(own.cluster.start_again()?);
        let running = Some(cluster.start()?);
        Ok(Self { url: cluster.url(), own: Some(Own { running, cluster }) })
    }

    /// Makes a replica the one that writes, and returns when it does. It does not matter what became of the primary; whoever
    /// still writes there writes in vain.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotOurs`] for a database that was given by URL, [`ServerError::NoReplica`] for a server that follows
    /// nobody or does not run, [`ServerError::NotPromoted`] when it takes longer than a minute.
    pub fn promote(&mut self) -> Result<(), ServerError> {
        let own = self.own()?;
        let data = own.cluster.data();
        let replica = own.running.as_ref().filter(|_| data.join("standby.signal").exists());
        let postmaster = replica.ok_or(ServerError::NoReplica)?.pid();
        // What `pg_ctl promote` does; not every installation has it.
        own.cluster.mark("promote")?;
        signal(postmaster)?;
        let deadline = Instant::now() + PROMOTION_LIMIT;
        while !is_in_production(&data) {
            if Instant::now() >= deadline {
                return Err(ServerError::NotPromoted { seconds: PROMOTION_LIMIT.as_secs(), log: own.cluster.log() });
            }
            std::thread::sleep(GLANCE);
        }
        Ok(())
    }
}

fn signal(postmaster: Pid) -> Result<(), ServerError> {
    kill_process(postmaster, Signal::USR1).map_err(|error| ServerError::io("tell the replica")(error.into()))
}

/// Whether the server says so in its control file, as `pg_ctl promote` reads it: after the cluster's identifier and two
/// version numbers stands its state, and 6 is "in production".
fn is_in_production(data: &Path) -> bool {
    let state = std::fs::read(data.join("global/pg_control")).ok();
    let state = state.as_ref().and_then(|control| control.get(16..20));
    state == Some(&6_i32.to_ne_bytes())
}
