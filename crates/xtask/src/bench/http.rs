//! A keep-alive HTTP/1.1 client for 127.0.0.1, no larger than loads need: one connection, one request at a
//! time. It is written by hand on purpose: it shares its processors with the server, so what it costs itself
//! is in every figure, and was in those of before.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

pub use atelier_testing::http::form;

/// Far beyond anything that is asked for here; a body that grows past it is a fault, not a page.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// An answer that takes this long is none.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection to a server on this machine.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: Vec<u8>,
}

impl Connection {
    /// Connects to a port of 127.0.0.1.
    pub fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::with_capacity(64 * 1024, stream) })
    }

    /// Sends a request made by [`request`] and reads the whole answer.
    pub fn send(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.stream.get_mut().write_all(request)?;
        read_answer(&mut self.stream)
    }
}

impl Answer {
    /// The first header with that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What the cookies that this answer sets hold, as the `cookie` header of the next request.
    pub fn cookies(&self) -> String {
        let set = self.headers().filter(|(key, _)| key.eq_ignore_ascii_case("set-cookie"));
        let pairs: Vec<&str> = set.filter_map(|(_, value)| value.split(';').next()).collect();
        pairs.join("; ")
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.head.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(key, value)| (key, value.trim()))
    }
}

/// Writes a request down, once for all the times that it is sent.
pub fn request(method: &str, path: &str, port: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if method != "GET" {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

fn read_answer(stream: &mut impl BufRead) -> io::Result<Answer> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if stream.read_line(&mut head)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
        }
        if head[before..].trim_end().is_empty() {
            break;
        }
    }
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| broken("no status"))?;
    let mut answer = Answer { status, head, body: Vec::new() };
    answer.body = match (answer.header("transfer-encoding"), answer.header("content-length")) {
        _ if status == 204 || status == 304 => Vec::new(),
        (Some(coding), _) if coding.eq_ignore_ascii_case("chunked") => read_chunks(stream)?,
        (None, Some(length)) => {
            let length = length.parse().map_err(|_| broken("a length that is no number"))?;
            read_exactly(stream, length)?
        }
        _ => return Err(broken("a body of unknown length")),
    };
    Ok(answer)
}

fn read_exactly(stream: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    if length > MOST_BYTES {
        return Err(broken("a body that is far too long"));
    }
    let mut body = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    stream.take(length).read_to_end(&mut body)?;
    if body.len() as u64 == length { Ok(body) } else { Err(broken("a body that is cut off")) }
}

fn read_chunks(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = u64::from_str_radix(digits, 16).map_err(|_| broken("a chunk without its length"))?;
        if body.len() as u64 + length > MOST_BYTES {
            return Err(broken("a body that is far too long"));
        }
        body.append(&mut read_exactly(stream, length)?);
        // the line break after the chunk, or the end of the (empty) trailers after the last one
        stream.read_line(&mut String::new())?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server sent {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Answer> {
        read_answer(&mut BufReader::with_capacity(3, text.as_bytes()))
    }

    #[test]
    fn bodies_come_with_a_length_or_in_chunks() {
        let plain = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").expect("it is whole");
        assert_eq!((plain.status, plain.text().as_str()), (200, "hello"));
        let chunked =
            "HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
        let chunked = read(chunked).expect("it is whole");
        assert_eq!((chunked.status, chunked.text().as_str()), (404, "hello!"));
        let empty = read("HTTP/1.1 304 Not Modified\r\n\r\n").expect("it has no body");
        assert!(empty.body.is_empty());
    }

    #[test]
    fn what_is_cut_off_is_no_answer() {
        for text in
            ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhel", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"]
        {
            read(text).expect_err(text);
        }
    }

    #[test]
    fn cookies_go_back_without_their_attributes() {
        let answer = "HTTP/1.1 200 OK\r\nset-cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(read(answer).expect("it is whole").cookies(), "a=1; b=2");
    }
}
