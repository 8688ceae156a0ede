//! A connection of which little is read before somebody has said who they are.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use atelier_protocol::MAX_HELLO;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What may be read from a stranger: a first message with its head, and a little more, so that one that is a little too long is
/// answered in words.
const ALLOWANCE: usize = MAX_HELLO + (8 << 10);

/// Such a connection.
#[derive(Debug)]
pub struct Doorstep<S> {
    connection: S,
    read: usize,
    is_open: Arc<AtomicBool>,
}

/// Opens it.
#[derive(Debug)]
pub struct Door(Arc<AtomicBool>);

impl Door {
    /// From now on as much is read as there is.
    pub fn open(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<S> Doorstep<S> {
    /// In front of a closed door.
    pub fn new(connection: S) -> (Self, Door) {
        let is_open = Arc::new(AtomicBool::new(false));
        let door = Door(Arc::clone(&is_open));
        (Self { connection, read: 0, is_open }, door)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Doorstep<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Doorstep<S> {
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
