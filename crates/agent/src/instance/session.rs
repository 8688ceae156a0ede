//! One terminal, with those who look at it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atelier_pipe::Wire;
use atelier_protocol::terminal::{HEAD, MAX_FRAME, TerminalFrame};
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{Notify, watch};

use super::ring::{Next, Ring, STALLED};
use crate::clock;

/// What is read or sent at once.
const PIECE: usize = 32 << 10;
/// A program that takes nothing of what is typed for so long gets nothing more of it, so that others can
/// type.
const DEAF: Duration = Duration::from_secs(10);

/// One terminal.
pub struct Session {
    ring: Mutex<Ring>,
    /// There is something new to look at.
    printed: watch::Sender<()>,
    /// Somebody has taken something.
    taken: Notify,
    near: Near,
    typed: AtomicU64,
    shown: AtomicU64,
}

/// The agent's end of a terminal.
pub struct Near {
    /// Said to be pipes, which is close enough: both can be read, written and waited for in the same way.
    read: Receiver,
    write: Sender,
    /// One writes at a time, so that what two type is not mixed up.
    writing: tokio::sync::Mutex<()>,
    handle: OwnedFd,
}

impl Near {
    /// From the handle that came out of the sandbox.
    pub fn new(handle: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&handle, true)?;
        Ok(Self {
            read: Receiver::from_owned_fd_unchecked(handle.try_clone()?)?,
            write: Sender::from_owned_fd_unchecked(handle.try_clone()?)?,
            writing: tokio::sync::Mutex::new(()),
            handle,
        })
    }

    /// Waits until there is something to read, or nobody has it open any more.
    pub async fn readable(&self) -> io::Result<()> {
        self.read.readable().await
    }

    /// Reads what is there, without waiting.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        self.read.try_read(into)
    }

    /// Types something, as fast as it is taken.
    pub async fn type_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        let _turn = self.writing.lock().await;
        while !bytes.is_empty() {
            match self.write.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.write.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Only a size that is another one is told, since programs draw everything again then.
    pub fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        let is_same = |now: Winsize| (now.ws_col, now.ws_row) == (columns, rows);
        if columns > 0 && rows > 0 && !tcgetwinsize(&self.handle).is_ok_and(is_same) {
            let _ = tcsetwinsize(&self.handle, size);
        }
    }
}

impl Session {
    pub fn new(near: Near) -> Self {
        Self {
            ring: Mutex::default(),
            printed: watch::channel(()).0,
            taken: Notify::new(),
            near,
            typed: AtomicU64::new(0),
            shown: AtomicU64::new(0),
        }
    }

    /// How many bytes were typed and printed since this was last asked.
    pub fn take_traffic(&self) -> (u64, u64) {
        (self.typed.swap(0, Ordering::Relaxed), self.shown.swap(0, Ordering::Relaxed))
    }

    /// Its shell has ended.
    pub fn end(&self, code: i32) {
        self.lock().code = Some(code);
        self.printed.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print(&self, bytes: &[u8]) {
        self.lock().append(bytes);
        self.shown.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.printed.send_replace(());
    }

    /// Reads what the terminal shows, as fast as those who look can take it.
    pub async fn read_all(&self) {
        loop {
            while !self.lock().has_room(clock::now()) {
                drop(tokio::time::timeout(STALLED / 4, self.taken.notified()).await);
            }
            if self.near.read.readable().await.is_err() {
                return;
            }
            let mut piece = vec![0; PIECE];
            match self.near.read.try_read(&mut piece) {
                Ok(0) => return,
                Ok(count) => self.print(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The system's word for a terminal that nobody has open any more.
                Err(_) => return,
            }
        }
    }

    /// Reads what is left of a shell that has ended. No more than a terminal holds, so nobody has to be
    /// waited for.
    pub fn read_rest(&self) {
        let mut piece = vec![0; PIECE];
        for _ in 0..64 {
            match rustix::io::read(&self.near.handle, &mut piece) {
                Ok(count @ 1..) => self.print(&piece[..count]),
                _ => return,
            }
        }
    }

    /// Serves somebody who looks and types, until they go or the shell ends.
    pub async fn attend(self: Arc<Self>, wire: Wire) {
        let looking = Looking { number: self.lock().join(), session: &self };
        let (read, write) = tokio::io::split(wire);
        tokio::select! {
            () = self.take_input(read) => {}
            _ = self.send_output(&looking, write) => {}
        }
    }

    async fn send_output(&self, looking: &Looking<'_>, mut write: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut printed = self.printed.subscribe();
        loop {
            printed.mark_unchanged();
            let next = self.lock().next(looking.number, PIECE);
            let (frame, is_last) = match next {
                Next::Bytes(bytes) => (TerminalFrame::Bytes(bytes), false),
                Next::Ended(code) => (TerminalFrame::Ended(code), true),
                Next::LeftBehind => return Ok(()),
                Next::Wait => {
                    if printed.changed().await.is_err() {
                        return Ok(());
                    }
                    continue;
                }
            };
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            write.write_all(&bytes).await?;
            write.flush().await?;
            self.taken.notify_one();
            if is_last {
                return write.shutdown().await;
            }
        }
    }

    async fn take_input(&self, mut read: impl AsyncRead + Unpin) {
        let mut come = Vec::new();
        loop {
            match TerminalFrame::decode(&come) {
                Ok(Some((frame, length))) => {
                    come.drain(..length);
                    match frame {
                        TerminalFrame::Bytes(bytes) => {
                            self.typed.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                            // A terminal that takes nothing any more ends for those who look as well, and in
                            // order.
                            drop(tokio::time::timeout(DEAF, self.near.type_all(&bytes)).await);
                        }
                        TerminalFrame::Size(columns, rows) => self.near.resize(columns, rows),
                        TerminalFrame::Ended(_) => return,
                    }
                    continue;
                }
                Ok(None) => {}
                Err(_) => return,
            }
            if come.is_empty() {
                // Whoever types nothing holds no buffer.
                come = Vec::new();
                let mut first = [0; HEAD];
                match read.read(&mut first).await {
                    Ok(count @ 1..) => come.extend(&first[..count]),
                    _ => return,
                }
                continue;
            }
            let missing = (HEAD + MAX_FRAME).saturating_sub(come.len()).max(1);
            come.reserve(missing.min(PIECE));
            if !matches!((&mut read).take(missing as u64).read_buf(&mut come).await, Ok(1..)) {
                return;
            }
        }
    }
}

struct Looking<'a> {
    number: u64,
    session: &'a Session,
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.session.lock().leave(self.number);
        self.session.taken.notify_one();
    }
}
