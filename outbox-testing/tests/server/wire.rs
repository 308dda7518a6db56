//! As much of PostgreSQL's protocol as it takes to ask a server one question, so that these tests need no driver.

use std::io::{Error, Read, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The first column of the first row that `sql` returns, empty without rows; an error when it does not answer.
pub(crate) fn ask(url: &str, sql: &str) -> Result<String> {
    let mut stream = connect(url)?;
    let database = url.rsplit('/').next().unwrap_or("postgres");
    send(&mut stream, None, format!("\0\x03\0\0user\0postgres\0database\0{database}\0\0").as_bytes())?;
    until_idle(&mut stream)?;
    send(&mut stream, Some(b'Q'), format!("{sql}\0").as_bytes())?;
    until_idle(&mut stream)
}

fn connect(url: &str) -> Result<TcpStream> {
    let address = url
        .split_once('@')
        .and_then(|(_, rest)| rest.split('/').next())
        .ok_or_else(|| Error::other("a URL with a host"))?;
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    Ok(stream)
}

fn send(stream: &mut TcpStream, kind: Option<u8>, body: &[u8]) -> Result<()> {
    let length = u32::try_from(body.len() + 4).map_err(Error::other)?;
    let mut message: Vec<u8> = kind.into_iter().collect();
    message.extend(length.to_be_bytes());
    message.extend(body);
    stream.write_all(&message)
}

/// Reads until the server waits for the next query.
fn until_idle(stream: &mut TcpStream) -> Result<String> {
    let mut answer = String::new();
    loop {
        let (kind, body) = receive(stream)?;
        match kind {
            b'Z' => return Ok(answer),
            b'E' => return Err(Error::other(String::from_utf8_lossy(&body).into_owned())),
            // Two bytes count the columns and four measure the first one.
            b'D' if answer.is_empty() => answer = String::from_utf8_lossy(&body[6..]).into_owned(),
            _ => {}
        }
    }
}

fn receive(stream: &mut TcpStream) -> Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut body = vec![0; length as usize - 4];
    stream.read_exact(&mut body)?;
    Ok((head[0], body))
}
