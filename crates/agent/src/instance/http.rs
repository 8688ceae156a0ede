//! Just enough HTTP to ask an application how it does.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// The longest answer that is read.
const LONGEST: u64 = 4 << 20;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks for a page. In the older version of the protocol, in which a body ends with its connection.
pub async fn get(mut stream: UnixStream, path: &str) -> io::Result<(u16, Vec<u8>)> {
    let ask = async {
        let request = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\nuser-agent: atelier\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        (&mut stream).take(LONGEST).read_to_end(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let answer = tokio::time::timeout(PATIENCE, ask).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    parse(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Only whether it answers, and how: the rest is not waited for.
pub async fn status(mut stream: UnixStream, path: &str) -> io::Result<u16> {
    let ask = async {
        let request = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\nuser-agent: atelier\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        while !head.contains(&b'\n') {
            if stream.read_buf(&mut head).await? == 0 {
                break;
            }
        }
        Ok::<_, io::Error>(head)
    };
    let head = tokio::time::timeout(PATIENCE, ask).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    code(&head).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(answer: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    Some((code(answer)?, answer[end + 4..].to_vec()))
}

fn code(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok().filter(|line| line.starts_with("HTTP/1."))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n[1]"), Some((200, b"[1]".to_vec())));
        assert_eq!(code(b"HTTP/1.0 404 Not Found\r\n"), Some(404));
        assert_eq!(code(b"SSH-2.0\r\n"), None);
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\n"), None);
    }
}
