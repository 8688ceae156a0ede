//! One question and its answer over HTTP/1.1.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::address::Address;

/// An answer longer than a wait of the API and a little more is none.
const PATIENCE: Duration = Duration::from_secs(330);
/// The longest head of an answer.
const LONGEST_HEAD: u64 = 64 << 10;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub method: &'a str,
    /// With its query.
    pub path: &'a str,
    pub token: &'a str,
    /// The job that asks, if one does.
    pub job: Option<&'a str>,
    /// JSON.
    pub body: Option<&'a str>,
}

/// What comes back.
pub struct Answer {
    pub status: u16,
    pub body: Box<dyn Read>,
}

/// Asks. An error says in words what could not be done.
pub fn ask(address: &Address, question: Question<'_>) -> Result<Answer, String> {
    let cannot = |error: std::io::Error| error.to_string();
    let stream = TcpStream::connect((address.name(), address.port)).map_err(cannot)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
    let _ = stream.set_nodelay(true);
    if address.is_secure {
        let name = ServerName::try_from(address.name().to_owned()).map_err(|error| error.to_string())?;
        let connection = ClientConnection::new(trust()?, name).map_err(|error| error.to_string())?;
        talk(StreamOwned::new(connection, stream), address, question)
    } else {
        talk(stream, address, question)
    }
}

/// Whom this machine trusts; `SSL_CERT_FILE` names others.
fn trust() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

fn talk(mut stream: impl Read + Write + 'static, address: &Address, question: Question<'_>) -> Result<Answer, String> {
    let Question { method, path, token, job, body } = question;
    let mut head = format!(
        "{method} {}{path} HTTP/1.1\r\nHost: {}:{}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n",
        address.path, address.host, address.port
    );
    if let Some(job) = job {
        head.push_str(&format!("Atelier-Job: {job}\r\n"));
    }
    let body = body.unwrap_or_default();
    if !body.is_empty() {
        head.push_str("Content-Type: application/json\r\n");
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(head.as_bytes()).and_then(|()| stream.flush()).map_err(|error| error.to_string())?;
    read(BufReader::new(stream)).map_err(|error| format!("the answer was not understood: {error}"))
}

fn read(mut from: impl BufRead + 'static) -> std::io::Result<Answer> {
    let strange = |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, what.to_owned());
    let line = |from: &mut dyn BufRead| -> std::io::Result<String> {
        let mut text = String::new();
        from.take(LONGEST_HEAD).read_line(&mut text)?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    };
    let first = line(&mut from)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| strange("it is no HTTP"))?;
    let (mut length, mut is_chunked) = (None, false);
    loop {
        let header = line(&mut from)?;
        let Some((name, value)) = header.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse::<u64>().ok(),
            "transfer-encoding" => is_chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let body: Box<dyn Read> = match length {
        _ if is_chunked => Box::new(Chunked { from, left: 0, is_over: false }),
        Some(length) => Box::new(from.take(length)),
        None => Box::new(from),
    };
    Ok(Answer { status, body })
}

/// A body in pieces, each with its length before it.
struct Chunked<R> {
    from: R,
    left: u64,
    is_over: bool,
}

impl<R: BufRead> Read for Chunked<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 && !self.is_over {
            let mut line = String::new();
            (&mut self.from).take(LONGEST_HEAD).read_line(&mut line)?;
            if line.trim().is_empty() {
                // The end of the piece before.
                line.clear();
                (&mut self.from).take(LONGEST_HEAD).read_line(&mut line)?;
            }
            let size = line.trim().split(';').next().unwrap_or_default();
            self.left = u64::from_str_radix(size, 16)
                .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "a piece has no length"))?;
            self.is_over = self.left == 0;
        }
        if self.is_over || into.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let count = self.from.read(&mut into[..most])?;
        if count == 0 {
            return Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the answer was cut off"));
        }
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &'static str) -> (u16, std::io::Result<String>) {
        let mut answer = read(text.as_bytes()).expect("an answer");
        let mut body = String::new();
        (answer.status, answer.body.read_to_string(&mut body).map(|_| body))
    }

    #[test]
    fn bodies_come_in_three_ways() {
        let whole = answer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi, and more");
        assert_eq!((whole.0, whole.1.expect("read")), (200, "hi".into()));
        let pieces =
            answer("HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=1\r\n ho\r\n0\r\n\r\n");
        assert_eq!((pieces.0, pieces.1.expect("read")), (404, "hi ho".into()));
        let rest = answer("HTTP/1.0 500 x\r\n\r\nuntil the end");
        assert_eq!((rest.0, rest.1.expect("read")), (500, "until the end".into()));
    }

    #[test]
    fn what_is_cut_off_or_strange_is_an_error() {
        assert!(answer("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhi").1.is_err());
        assert!(answer("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n").1.is_err());
        assert!(read("SSH-2.0-x\r\n".as_bytes()).is_err());
    }
}
