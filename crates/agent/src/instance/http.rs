//! Asking an application how it does.

use std::future::Future;
use std::io;
use std::time::Duration;

use atelier_pipe::http::{Answer, ask, question};
use tokio::net::UnixStream;

/// The longest answer that is read.
const LONGEST: usize = 4 << 20;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks for a page.
pub async fn get(stream: UnixStream, path: &str) -> io::Result<(u16, Vec<u8>)> {
    in_time(async {
        let answer = begin(stream, path).await?;
        Ok((answer.status, answer.whole(LONGEST).await?))
    })
    .await
}

/// Only whether it answers, and how: the rest is not waited for.
pub async fn status(stream: UnixStream, path: &str) -> io::Result<u16> {
    in_time(async { Ok(begin(stream, path).await?.status) }).await
}

async fn begin(stream: UnixStream, path: &str) -> io::Result<Answer> {
    ask(stream.into(), question("GET", path, "localhost", &[("user-agent", "atelier")], "")?).await
}

async fn in_time<T>(what: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(PATIENCE, what).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// An application that says that and hangs up.
    fn app(said: &'static [u8]) -> UnixStream {
        let (near, mut far) = UnixStream::pair().expect("a pair");
        tokio::spawn(async move {
            let mut heard = [0; 1_024];
            assert!(far.read(&mut heard).await.expect("asked") > 0);
            far.write_all(said).await.expect("said");
        });
        near
    }

    #[tokio::test]
    async fn answers_are_read() {
        let answer = get(app(b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n[1]"), "/").await;
        assert_eq!(answer.ok(), Some((200, b"[1]".to_vec())));
        assert_eq!(status(app(b"HTTP/1.0 404 Not Found\r\n\r\n"), "/").await.ok(), Some(404));
        assert!(status(app(b"SSH-2.0\r\n"), "/").await.is_err());
        assert!(get(app(b"HTTP/1.1 200 OK\r\n"), "/").await.is_err());
    }
}
