//! The servers as they are named in settings: for the client, and for whoever reads a log.

use std::str::FromStr as _;

use async_nats::{ConnectError, ConnectErrorKind, ServerAddr};

use crate::builder::NatsError;

/// The URLs, as the client wants them.
pub(crate) fn each(servers: &str) -> Vec<&str> {
    servers.split(',').map(str::trim).collect()
}

/// Host and port of each, and nothing else of its URL, which may hold a password.
pub(crate) fn shown(servers: &str) -> String {
    let address = |server: &str| match ServerAddr::from_str(server) {
        Ok(address) => format!("{}:{}", address.host(), address.port()),
        Err(_) => "an address that cannot be read".to_owned(),
    };
    each(servers).into_iter().map(address).collect::<Vec<_>>().join(", ")
}

/// Why there can be no client. The kind only: the source may quote the URL, and the URL hold a password.
pub(crate) fn refused(error: &ConnectError) -> NatsError {
    NatsError::Settings(match error.kind() {
        ConnectErrorKind::ServerParse => {
            "the URL of a server cannot be read; write `nats://broker.internal:4222`, several with commas between, and what is special in a name \
             or password as `%40`"
                .to_owned()
        }
        kind => kind.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log names the server, and never what the URL holds beside.
    #[test]
    fn servers_are_shown_without_credentials() {
        for (servers, expected) in [
            ("nats://10.0.0.1:4222", "10.0.0.1:4222"),
            ("broker.internal", "broker.internal:4222"),
            ("nats://ann:hunter2@broker:4223, tls://token@other", "broker:4223, other:4222"),
            ("nats://ann:hunter2@[::1", "an address that cannot be read"),
        ] {
            assert_eq!(shown(servers), expected, "{servers}");
        }
    }
}
