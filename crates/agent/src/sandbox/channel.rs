//! The agent's end of a socket into a sandbox.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::UnboundedSender;

use crate::core::Happening;
use crate::wire::{self, Order, Said};

/// The agent's end.
#[derive(Debug)]
pub struct Channel {
    /// Only whether there is something to read is waited for: that the far end has taken a message would wake
    /// the agent once more for each job.
    socket: AsyncFd<OwnedFd>,
}

impl Channel {
    /// Listens on a socket until the far end is closed or says nonsense; what it says goes to the loop
    /// through `wrap`.
    pub fn listen(
        socket: OwnedFd,
        inbox: UnboundedSender<Happening>,
        wrap: impl Fn(Option<(Said, Vec<OwnedFd>)>) -> Happening + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        #[expect(deprecated, reason = "sound for an owned file, which stays the same; its successor is unsafe to call")]
        let socket = AsyncFd::with_interest(socket, Interest::READABLE)?;
        let channel = Arc::new(Self { socket });
        let own = Arc::clone(&channel);
        tokio::spawn(async move {
            loop {
                let said = own.socket.async_io(Interest::READABLE, |socket| wire::receive::<Said>(socket, false)).await;
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
        wire::send(self.socket.get_ref(), order, files, false)
    }

    /// Ends the conversation; the far end sees that nobody is there any more.
    pub fn close(&self) {
        let _ = rustix::net::shutdown(self.socket.get_ref(), rustix::net::Shutdown::Both);
    }
}
