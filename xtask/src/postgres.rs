//! `cargo xtask postgres`: a throwaway PostgreSQL for a program of one's own.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;

use outbox_testing::server::{Options, Pooler, Server};

use crate::Outcome;
use crate::arguments::{take_flag, take_value};

/// What is started.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    version: Option<u32>,
    pgbouncer: bool,
}

/// Both end with this process, however it ends; the pooler before what is behind it.
struct Running {
    pooler: Option<Pooler>,
    server: Server,
}

/// Starts it, says where it is, and stays until somebody ends this process.
pub(crate) fn command(arguments: Vec<String>) -> Outcome {
    let running = Running::start(&Wanted::read(arguments)?)?;
    print!("{}", running.said());
    std::io::stdout().flush()?;
    // Ctrl-C ends the process, and what watches over the server stops it then.
    loop {
        std::thread::park();
    }
}

impl Wanted {
    fn read(mut arguments: Vec<String>) -> Result<Self, String> {
        let version = take_value(&mut arguments, "--version")?;
        let number =
            |text: String| text.parse().map_err(|_| format!("`--version` needs a major version, not `{text}`"));
        let wanted =
            Self { version: version.map(number).transpose()?, pgbouncer: take_flag(&mut arguments, "--pgbouncer") };
        match arguments.first() {
            None => Ok(wanted),
            Some(other) => Err(format!("`cargo xtask postgres` takes `--version` and `--pgbouncer`, not `{other}`")),
        }
    }
}

impl Running {
    fn start(wanted: &Wanted) -> Result<Self, Box<dyn Error>> {
        let server = Server::start(&Options { major: wanted.version, ..Options::default() })?;
        let pooler = if wanted.pgbouncer { Some(Pooler::start(&server)?) } else { None };
        Ok(Self { pooler, server })
    }

    fn said(&self) -> String {
        let version = self.server.version().unwrap_or_default();
        let mut text = format!("PostgreSQL {version}:\n\n  export DATABASE_URL={}\n", self.server.url());
        if let Some(pooler) = &self.pooler {
            let (version, url) = (pooler.version(), pooler.url());
            // Writing to a `String` does not fail.
            let _ = write!(
                text,
                "\nPgBouncer {version} before it, in transaction mode (say `.transaction_pooler()`, or `.direct(..)` with the URL above):\n\n  \
                 export DATABASE_URL={url}\n"
            );
        }
        text + "\nEverybody on this machine can connect. Ctrl-C stops it, and its data is gone then.\n"
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::{Running, Wanted};

    fn read(line: &str) -> Result<Wanted, String> {
        Wanted::read(line.split_whitespace().map(str::to_owned).collect())
    }

    /// Both options are optional, and what is neither is refused.
    #[test]
    fn its_options_are_read() {
        assert_eq!(read(""), Ok(Wanted { version: None, pgbouncer: false }));
        assert_eq!(read("--pgbouncer --version 18"), Ok(Wanted { version: Some(18), pgbouncer: true }));
        assert!(read("--version new").is_err_and(|error| error.contains("`new`")));
        assert!(read("--pooler").is_err_and(|error| error.contains("`--pooler`")));
    }

    /// What it prints leads to a server of its own, whatever the environment names, which is gone with it.
    #[test]
    fn it_prints_where_a_server_is() {
        let running = Running::start(&Wanted { version: None, pgbouncer: false }).expect("a PostgreSQL");
        let said = running.said();
        let url = said.lines().find_map(|line| line.strip_prefix("  export DATABASE_URL=")).expect("a URL");
        let address = url.split(['@', '/']).nth(3).expect("an address").to_owned();
        TcpStream::connect(&address).expect("it listens");
        assert!(said.contains("Ctrl-C stops it"), "{said}");
        drop(running);
        assert!(TcpStream::connect(&address).is_err(), "it still listens");
    }
}
