//! A proxy between a client and the server that writes down every message of the client, to count round trips exactly.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use outbox_testing::Sandbox;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};

/// What clients sent: the type byte of each message, as the protocol documents them.
///
/// `Q` is a simple query, `P` parse, `B` bind, `E` execute, `S` sync: the client then waits for the answer.
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html>
#[derive(Clone, Default)]
pub struct Wire(Arc<Mutex<Vec<u8>>>);

impl Wire {
    /// A pool of one connection to the sandbox's server, by way of the proxy.
    pub async fn pool(&self, sandbox: &Sandbox) -> PgPool {
        let options = sandbox.options();
        let (host, port) = (options.get_host().to_owned(), options.get_port());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let wire = self.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                wire.relay(client.unwrap(), TcpStream::connect((host.as_str(), port)).unwrap());
            }
        });
        let options: PgConnectOptions = options.host("127.0.0.1").port(own).ssl_mode(PgSslMode::Disable);
        PgPoolOptions::new().max_connections(1).connect_with(options).await.unwrap()
    }

    fn relay(&self, client: TcpStream, server: TcpStream) {
        let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut from_server, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Both);
        });
        let wire = self.clone();
        thread::spawn(move || {
            let (mut client, mut server) = (client, server);
            // The first message has no type byte.
            let mut startup = true;
            while let Some((kind, message)) = read(&mut client, startup) {
                // Written down before it is passed on: the answer may be there, and be looked at, before this thread goes on.
                wire.0.lock().unwrap().extend(kind);
                if server.write_all(&message).is_err() {
                    break;
                }
                startup = false;
            }
            let _ = server.shutdown(Shutdown::Both);
        });
    }

    /// The messages since the last look.
    pub fn take(&self) -> Sent {
        Sent(String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap())
    }
}

/// One message, and its type where it has one; `None` when the client is gone.
fn read(client: &mut TcpStream, startup: bool) -> Option<(Option<u8>, Vec<u8>)> {
    let mut kind = [0_u8];
    if !startup {
        client.read_exact(&mut kind).ok()?;
    }
    let mut length = [0_u8; 4];
    client.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    client.read_exact(&mut body).ok()?;
    let kind = (!startup).then_some(kind[0]);
    Some((kind, [kind.as_slice(), &length, &body].concat()))
}

/// Messages, a letter each.
#[derive(Debug, PartialEq, Eq)]
pub struct Sent(pub String);

impl Sent {
    /// How many statements were executed.
    pub fn statements(&self) -> usize {
        self.0.chars().filter(|kind| matches!(kind, 'E' | 'Q')).count()
    }

    /// How often the client waited for the server.
    pub fn round_trips(&self) -> usize {
        self.0.chars().filter(|kind| matches!(kind, 'S' | 'Q')).count()
    }
}
