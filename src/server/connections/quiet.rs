//! A connection that ends when it is quiet for too long, or when its place was given to somebody else.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::server::connections::{Patience, Place};

/// See the module.
#[derive(Debug)]
pub struct Quiet<S> {
    stream: S,
    place: Arc<Place>,
    /// Until when something has to happen; nothing once it has become something else.
    limit: Option<Pin<Box<Sleep>>>,
    /// How many requests there had been when that was set.
    requests: u64,
    patience: Patience,
}

impl<S> Quiet<S> {
    pub(super) fn new(stream: S, place: Arc<Place>, patience: Patience) -> Self {
        let limit = Some(Box::pin(tokio::time::sleep(patience.first_request)));
        Self { stream, place, limit, requests: 0, patience }
    }

    /// The connection without its rules, for what has rules of its own.
    pub fn into_inner(self) -> S {
        self.stream
    }

    /// Whether it has to end.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        if self.place.is_over.load(Ordering::Acquire) {
            return true;
        }
        while let Some(limit) = &mut self.limit {
            if limit.as_mut().poll(context).is_pending() {
                return false;
            }
            if self.place.is_upgraded.load(Ordering::Acquire) {
                self.limit = None;
                return false;
            }
            let requests = self.place.requests.load(Ordering::Relaxed);
            let is_used = self.place.busy.load(Ordering::Acquire) > 0 || requests != self.requests;
            if !is_used {
                metrics::counter!("atelier_connections_timed_out_total").increment(1);
                return true;
            }
            self.requests = requests;
            limit.as_mut().reset(Instant::now() + self.patience.idle);
        }
        false
    }
}

fn over() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the connection was quiet for too long, or made room for another")
}

impl<S: AsyncRead + Unpin> AsyncRead for Quiet<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.place.reader.register(context.waker());
        if self.is_over(context) {
            return Poll::Ready(Err(over()));
        }
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Quiet<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?;
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S> Quiet<S> {
    /// Whoever takes nothing of an answer holds a place too.
    fn poll_open(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.place.writer.register(context.waker());
        if self.place.is_over.load(Ordering::Acquire) { Poll::Ready(Err(over())) } else { Poll::Ready(Ok(())) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::server::connections::{Busy, Gate, Limits};

    fn gate() -> Gate {
        Gate::new(Limits { most: 8, per_address: 1, trusted: Vec::new() })
    }

    fn from() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 1))
    }

    const SHORT: Patience = Patience { first_request: Duration::from_millis(200), idle: Duration::from_millis(100) };

    #[tokio::test]
    async fn who_says_nothing_is_not_listened_to_for_long() {
        let (place, (ours, mut theirs)) = (gate().enter(from()), tokio::io::duplex(64));
        let (mut quiet, started) = (Quiet::new(ours, Arc::clone(&place), SHORT), Instant::now());
        // A byte now and then is no request.
        theirs.write_all(b"G").await.expect("written");
        assert_eq!(quiet.read_u8().await.expect("read"), b'G');
        let error = quiet.read_u8().await.expect_err("over");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() >= SHORT.first_request);
    }

    #[tokio::test]
    async fn a_connection_lasts_while_requests_come_or_are_answered() {
        let (place, (ours, _theirs)) = (gate().enter(from()), tokio::io::duplex(64));
        let (mut quiet, started) = (Quiet::new(ours, Arc::clone(&place), SHORT), Instant::now());
        place.used();
        let busy = Busy::new(&place);
        tokio::spawn(async move {
            tokio::time::sleep(SHORT.idle * 10).await;
            drop(busy);
        });
        quiet.read_u8().await.expect_err("over");
        assert!(started.elapsed() >= SHORT.idle * 10);
    }

    #[tokio::test]
    async fn what_has_become_something_else_has_its_own_rules() {
        let (place, (ours, mut theirs)) = (gate().enter(from()), tokio::io::duplex(64));
        let mut quiet = Quiet::new(ours, Arc::clone(&place), SHORT);
        place.used();
        place.is_upgraded.store(true, Ordering::Release);
        tokio::spawn(async move {
            tokio::time::sleep(SHORT.idle * 10).await;
            theirs.write_all(b"!").await
        });
        assert_eq!(quiet.read_u8().await.expect("still open"), b'!');
    }

    #[tokio::test]
    async fn a_place_that_was_given_away_ends_the_connection_at_once() {
        let gate = gate();
        let (place, (ours, _theirs)) = (gate.enter(from()), tokio::io::duplex(1));
        let mut quiet = Quiet::new(ours, place, SHORT);
        let reading = tokio::spawn(async move { (quiet.read_u8().await, quiet.write_all(b"late").await) });
        tokio::task::yield_now().await;
        let _next = gate.enter(from());
        let (read, written) = reading.await.expect("ends");
        assert!(read.is_err() && written.is_err());
    }
}
