//! A connection: one of the two kinds that the system has, or another that is built upon them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// Anything that bytes go through.
pub trait Bytes: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bytes for T {}

/// A connection, with what was read from it too early.
pub struct Wire {
    stream: Stream,
    early: Vec<u8>,
}

/// What a connection is made of.
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    /// With something in between, as TLS.
    Other(Box<dyn Bytes>),
}

impl From<UnixStream> for Wire {
    fn from(stream: UnixStream) -> Self {
        Self { stream: Stream::Unix(stream), early: Vec::new() }
    }
}

impl From<TcpStream> for Wire {
    fn from(stream: TcpStream) -> Self {
        Self { stream: Stream::Tcp(stream), early: Vec::new() }
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match &self.stream {
            Stream::Unix(_) => "Unix",
            Stream::Tcp(_) => "Tcp",
            Stream::Other(_) => "Other",
        })
    }
}

macro_rules! each {
    ($self:ident, $stream:ident => $call:expr) => {
        match &mut $self.get_mut().stream {
            Stream::Unix($stream) => $call,
            Stream::Tcp($stream) => $call,
            Stream::Other($stream) => $call,
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.early.is_empty() {
            let length = self.early.len().min(into.remaining());
            into.put_slice(&self.early[..length]);
            self.early.drain(..length);
            return Poll::Ready(Ok(()));
        }
        each!(self, stream => Pin::new(stream).poll_read(context, into))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write_vectored(context, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Unix(stream) => stream.is_write_vectored(),
            Stream::Tcp(stream) => stream.is_write_vectored(),
            Stream::Other(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(context))
    }
}

impl Wire {
    pub fn other(stream: impl Bytes + 'static) -> Self {
        Self { stream: Stream::Other(Box::new(stream)), early: Vec::new() }
    }

    /// With what was read from it already and belongs to whoever reads on.
    #[must_use]
    pub fn with_early(mut self, bytes: &[u8]) -> Self {
        self.early.extend_from_slice(bytes);
        self
    }

    /// Whether it stays within this machine, so that connections can be given away over it.
    pub const fn is_local(&self) -> bool {
        matches!(self.stream, Stream::Unix(_))
    }

    /// The connection itself and what was read too early; if it is one of the two kinds that the system has.
    pub(crate) fn bare(self) -> Result<(Bare, Vec<u8>), Self> {
        match self.stream {
            Stream::Unix(stream) => Ok((Bare::Unix(stream), self.early)),
            Stream::Tcp(stream) => Ok((Bare::Tcp(stream), self.early)),
            Stream::Other(_) => Err(self),
        }
    }
}

/// A connection that can be waited for without a buffer.
pub(crate) enum Bare {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl From<Bare> for Wire {
    fn from(bare: Bare) -> Self {
        match bare {
            Bare::Unix(stream) => stream.into(),
            Bare::Tcp(stream) => stream.into(),
        }
    }
}

impl Bare {
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.readable().await,
            Self::Tcp(stream) => stream.readable().await,
        }
    }

    pub(crate) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.writable().await,
            Self::Tcp(stream) => stream.writable().await,
        }
    }

    pub(crate) fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.try_read(into),
            Self::Tcp(stream) => stream.try_read(into),
        }
    }

    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.try_write(bytes),
            Self::Tcp(stream) => stream.try_write(bytes),
        }
    }

    /// Says that nothing more comes this way. What is closed already needs no more words.
    pub(crate) fn hang_up(&self) {
        use rustix::net::{Shutdown, shutdown};
        let _ = match self {
            Self::Unix(stream) => shutdown(stream, Shutdown::Write),
            Self::Tcp(stream) => shutdown(stream, Shutdown::Write),
        };
    }
}
