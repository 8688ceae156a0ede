//! A browser's way into an application: its address and the cookie of that address.

use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::bench::http::{Answer, Connection};
use crate::failure::{Failure, Result};

/// An answer that takes this long is none.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where an application is, and what lets in there.
#[derive(Debug)]
pub struct Door {
    port: u16,
    host: String,
    cookie: String,
}

impl Door {
    /// Shows the code that the portal gave, and keeps the cookie that it becomes.
    pub fn redeem(port: u16, host: &str, path: &str) -> Result<Self> {
        let mut door = Self { port, host: host.to_owned(), cookie: String::new() };
        let answer = door.ask(path)?;
        door.cookie = answer.cookies();
        if door.cookie.is_empty() {
            return Err(Failure::new(format!("{host} lets nobody in: status {}: {}", answer.status, answer.text())));
        }
        Ok(door)
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// A request of the application's own page, with further headers.
    pub fn request(&self, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
        self.head("GET", path, headers)
    }

    /// The head of a request that changes something.
    pub fn post(&self, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
        self.head("POST", path, headers)
    }

    fn head(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let (host, cookie) = (&self.host, &self.cookie);
        let cookie = if cookie.is_empty() { String::new() } else { format!("cookie: {cookie}\r\n") };
        format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{cookie}{more}\r\n").into_bytes()
    }

    /// Asks over a connection of its own.
    pub fn ask(&self, path: &str) -> Result<Answer> {
        let send = || Connection::open(self.port)?.send(&self.request(path, &[]));
        send().map_err(|error| Failure::new(format!("GET {path} at {} failed: {error}", self.host)))
    }
}

/// A bare connection to a port of 127.0.0.1.
pub fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}
