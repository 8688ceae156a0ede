//! A connection of which little is read before somebody has said who they are.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use atelier_protocol::MAX_HELLO;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What may be read from a stranger: a first message with its head, and a little more, so that one that is a
/// little too long is answered in words.
const ALLOWANCE: usize = MAX_HELLO + (8 << 10);

#[derive(Debug)]
pub struct ReadLimited<S> {
    connection: S,
    read: usize,
    is_open: Arc<AtomicBool>,
}

/// Lifts the limit, once somebody has said who they are.
#[derive(Debug)]
pub struct ReadLimit(Arc<AtomicBool>);

impl ReadLimit {
    /// From now on as much is read as there is.
    pub fn lift(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<S> ReadLimited<S> {
    /// Until the limit is lifted.
    pub fn new(connection: S) -> (Self, ReadLimit) {
        let is_open = Arc::new(AtomicBool::new(false));
        let limit = ReadLimit(Arc::clone(&is_open));
        (Self { connection, read: 0, is_open }, limit)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadLimited<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let is_open = self.is_open.load(Ordering::Relaxed);
        if !is_open && self.read >= ALLOWANCE {
            return Poll::Ready(Err(io::Error::other("too much was sent before it was known who speaks")));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.connection).poll_read(cx, buffer);
        self.read = self.read.saturating_add(buffer.filled().len() - before);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadLimited<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(cx)
    }
}
