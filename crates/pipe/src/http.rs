//! One question over HTTP/1.1 and its answer, over any connection. hyper speaks; this is what all who ask
//! have in common.

use std::future::Future;
use std::io::{self, Read};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, HeaderName, HeaderValue};
use hyper_util::rt::TokioIo;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::Wire;

/// What is asked, once: the connection is closed after the answer.
pub type Question = hyper::Request<Full<Bytes>>;

/// The longest head of an answer, and the most lines in it: applications of people answer, and whoever asks
/// holds all of it in memory.
const LONGEST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 200;

const NO_HTTP: &str = "it is no HTTP, or its head is far too long";

/// Writes a question down. A body has its length said.
pub fn question(
    method: &str,
    path: &str,
    host: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> io::Result<Question> {
    let strange = |error: hyper::http::Error| io::Error::new(io::ErrorKind::InvalidInput, error);
    let mut question =
        hyper::Request::builder().method(method).uri(path).body(Full::new(body.into())).map_err(strange)?;
    let usual = [(HOST.as_str(), host), (CONNECTION.as_str(), "close")];
    for (name, value) in usual.iter().chain(headers) {
        let name = HeaderName::try_from(*name).map_err(|error| strange(error.into()))?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|error| strange(error.into()))?;
        question.headers_mut().append(name, value);
    }
    Ok(question)
}

/// An answer, of which the body is still to come. Whoever drops it hangs up.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    body: Incoming,
    _mover: Mover,
}

/// What moves the bytes, for as long as somebody wants them.
#[derive(Debug)]
struct Mover(JoinHandle<()>);

impl Drop for Mover {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks, and gives the answer as soon as its head is there. Takes what applications of all kinds send for
/// headers.
pub async fn ask(wire: Wire, question: Question) -> io::Result<Answer> {
    let mut kind = http1::Builder::new();
    kind.max_buf_size(LONGEST_HEAD).max_headers(MOST_HEADERS);
    kind.allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    let (mut sender, mover) = kind.handshake(TokioIo::new(wire)).await.map_err(words)?;
    let mover = Mover(tokio::spawn(async move {
        // Whoever reads hears of it as well.
        let _ = mover.await;
    }));
    let (head, body) = sender.send_request(question).await.map_err(words)?.into_parts();
    Ok(Answer { status: head.status.as_u16(), headers: head.headers, body, _mover: mover })
}

impl Answer {
    /// The next piece of the body; nothing after its end.
    pub async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            match self.body.frame().await.transpose().map_err(words)?.map(hyper::body::Frame::into_data) {
                Some(Ok(piece)) if piece.is_empty() => {}
                Some(Ok(piece)) => return Ok(Some(piece)),
                // What stands behind the body is of no interest.
                Some(Err(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// The whole body, if it has no more than so many bytes.
    pub async fn whole(mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await? {
            if body.len() + piece.len() > most {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is far too long"));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

fn words(error: hyper::Error) -> io::Error {
    if error.is_parse() {
        return io::Error::new(io::ErrorKind::InvalidData, NO_HTTP);
    }
    if error.is_incomplete_message() {
        return io::Error::new(io::ErrorKind::UnexpectedEof, "the answer was cut off");
    }
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
    match cause {
        Some(cause) => io::Error::new(cause.kind(), cause.to_string()),
        None => io::Error::other(error),
    }
}

/// For those who have no runtime and wait.
#[derive(Debug)]
pub struct Waiting {
    runtime: Runtime,
    patience: Duration,
}

impl Waiting {
    /// For each thing that is waited for, at most so long.
    pub fn new(patience: Duration) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, patience })
    }

    pub fn wait<T>(&self, what: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        self.runtime.block_on(async {
            let late = |_| io::Error::from(io::ErrorKind::TimedOut);
            tokio::time::timeout(self.patience, what).await.map_err(late)?
        })
    }

    /// A body, to be read while it comes.
    pub fn body(self, answer: Answer) -> impl Read + 'static {
        Body { answer, piece: Bytes::new(), waiting: self }
    }
}

struct Body {
    answer: Answer,
    piece: Bytes,
    waiting: Waiting,
}

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.piece.is_empty() && !into.is_empty() {
            self.piece = self.waiting.wait(self.answer.piece())?.unwrap_or_default();
        }
        let piece = self.piece.split_to(self.piece.len().min(into.len()));
        into[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;

    /// Asks somebody who says that, whatever they hear: what they heard, and the answer.
    fn hear(said: &str) -> (String, io::Result<(u16, io::Result<String>)>) {
        let waiting = Waiting::new(Duration::from_secs(10)).expect("a runtime");
        let said = said.to_owned();
        let question = question("POST", "/a?b=c", "x:1", &[("x-y", "z")], "hi").expect("a question");
        let (answer, heard) = waiting
            .wait(async {
                let (near, mut far) = UnixStream::pair()?;
                let speaker = tokio::spawn(async move {
                    let mut heard = vec![0; 4_096];
                    let mut length = 0;
                    while !heard[..length].ends_with(b"hi") {
                        length += far.read(&mut heard[length..]).await.expect("reads");
                    }
                    // Whoever has heard enough hangs up.
                    let _ = far.write_all(said.as_bytes()).await;
                    String::from_utf8_lossy(&heard[..length]).into_owned()
                });
                let answer = ask(near.into(), question).await;
                Ok((answer, speaker.await.expect("heard")))
            })
            .expect("in time");
        let answer = answer.map(|answer| {
            let status = answer.status;
            let mut text = String::new();
            (status, waiting.body(answer).read_to_string(&mut text).map(|_| text))
        });
        (heard, answer)
    }

    fn answer(said: &str) -> (u16, io::Result<String>) {
        hear(said).1.expect("an answer")
    }

    #[test]
    fn a_question_has_its_host_and_its_length() {
        let (heard, _) = hear("HTTP/1.1 204 No\r\n\r\n");
        assert!(heard.starts_with("POST /a?b=c HTTP/1.1\r\n"), "{heard}");
        for header in ["host: x:1\r\n", "connection: close\r\n", "x-y: z\r\n", "content-length: 2\r\n"] {
            assert!(heard.contains(header), "{heard}");
        }
        assert!(question("GET", "/", "x", &[("a", "b\nc: d")], "").is_err());
        assert!(question("GET", "/a b", "x", &[], "").is_err());
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
        assert!(answer("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi").1.is_err());
        let strange = hear("SSH-2.0-x\r\n").1.expect_err("no HTTP");
        assert_eq!(strange.to_string(), NO_HTTP);
        assert!(hear("").1.is_err() && hear("HTTP/1.1 200 OK\r\n").1.is_err());
    }

    #[test]
    fn heads_are_bounded() {
        let far_too_long = |head: String| hear(&head).1.map(|(status, _)| status).expect_err("refused").to_string();
        assert_eq!(far_too_long(format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(LONGEST_HEAD))), NO_HTTP);
        assert_eq!(far_too_long(format!("HTTP/1.1 200 {}", "y".repeat(1 << 20))), NO_HTTP);
        assert_eq!(far_too_long(format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(MOST_HEADERS + 1))), NO_HTTP);
        let long = "z".repeat(96 << 10);
        let whole = answer(&format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n{long}", "y".repeat(32 << 10)));
        assert!(whole.0 == 200 && whole.1.expect("read") == long, "bodies are not");
    }

    #[test]
    fn nobody_waits_for_ever() {
        let waiting = Waiting::new(Duration::from_millis(20)).expect("a runtime");
        let late = waiting.wait(async {
            let (near, _far) = UnixStream::pair()?;
            ask(near.into(), question("GET", "/", "x", &[], "")?).await
        });
        assert_eq!(late.map(|answer| answer.status).map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }
}
