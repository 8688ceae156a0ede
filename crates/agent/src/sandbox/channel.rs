//! The agent's end of a socket into a sandbox.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::mpsc::UnboundedSender;

use crate::core::Happening;
use crate::wire::{self, Order, Said};

/// The agent's end.
#[derive(Debug)]
pub struct Channel {
    /// Waited for like a stream, though it keeps messages apart: whether there is something to read is the
    /// same for both.
    socket: UnixStream,
}

impl Channel {
    /// Listens on a socket until the far end is closed or says nonsense; what it says goes to the loop
    /// through `wrap`.
    pub fn listen(
        socket: OwnedFd,
        inbox: UnboundedSender<Happening>,
        wrap: impl Fn(Option<(Said, Vec<OwnedFd>)>) -> Happening + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        let channel = Arc::new(Self { socket: UnixStream::from_std(socket)? });
        let own = Arc::clone(&channel);
        tokio::spawn(async move {
            loop {
                let said = own.socket.async_io(Interest::READABLE, || wire::receive::<Said>(&own.socket, false)).await;
                let said = said.unwrap_or(None);
                let is_over = said.is_none();
                if inbox.send(wrap(said)).is_err() || is_over {
                    return;
                }
            }
        });
        Ok(channel)
    }

    /// Says something. Never waits: whoever does not listen is broken.
    pub fn say(&self, order: &Order, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        wire::send(&self.socket, order, files, false)
    }

    /// Ends the conversation; the far end sees that nobody is there any more.
    pub fn close(&self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }
}
