//! What can be ended from outside, whatever whoever uses it waits for: a connection, or what runs over it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Ends what listens to it when it is told to.
#[derive(Clone)]
pub struct Cutter(Arc<watch::Sender<bool>>);

impl Cutter {
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub fn cut(&self) {
        self.0.send_replace(true);
    }

    /// Waits until it was ended.
    pub fn was_cut(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut told = self.0.subscribe();
        async move {
            // The sender is gone only when nobody could be told any more.
            if told.wait_for(|is_cut| *is_cut).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

type Told = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The connection.
pub struct Cuttable {
    stream: TcpStream,
    /// Each direction waits for itself: one future wakes one waiter.
    told: [Told; 2],
}

impl Cuttable {
    /// A connection with what ends it.
    pub fn new(stream: TcpStream) -> (Self, Cutter) {
        let cutter = Cutter::new();
        let told = || -> Told { Box::pin(cutter.was_cut()) };
        let told = [told(), told()];
        (Self { stream, told }, cutter)
    }

    fn is_cut(&mut self, direction: usize, context: &mut Context<'_>) -> bool {
        match self.told[direction].as_mut().poll(context) {
            Poll::Ready(()) => {
                // A future that has ended is not asked again.
                self.told[direction] = Box::pin(std::future::ready(()));
                true
            }
            Poll::Pending => false,
        }
    }
}

fn gone() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}

impl AsyncRead for Cuttable {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_cut(0, context) {
            return Poll::Ready(Err(gone()));
        }
        Pin::new(&mut this.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.is_cut(1, context) {
            return Poll::Ready(Err(gone()));
        }
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
