//! Bytes between a session's process and the server.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use atelier_pipe::Wire;
use atelier_protocol::remote::{HEAD, Kind, WINDOW, frame};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Notify;

use super::frames;
use crate::instance::session::Near;
use crate::sandbox::Channel;
use crate::wire::{Order, Outcome};

/// As much is read from a process at once: what a pipe holds.
const PIECE: usize = 64 << 10;

/// The agent's ends of what a session's process reads and writes.
pub enum Ends {
    Terminal(Near),
    Pipes(Pipes),
}

/// Input, output and errors apart.
pub struct Pipes {
    pub input: Option<Sender>,
    pub output: Option<Receiver>,
    pub errors: Option<Receiver>,
}

/// Input that the process has not taken yet. The server sends no more than a window of it.
#[derive(Default)]
struct Typed {
    waiting: Mutex<(VecDeque<Vec<u8>>, usize, bool)>,
    come: Notify,
}

impl Typed {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<Vec<u8>>, usize, bool)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False if the server sends more than it may.
    fn add(&self, bytes: Vec<u8>) -> bool {
        let mut waiting = self.lock();
        waiting.1 += bytes.len();
        waiting.0.push_back(bytes);
        self.come.notify_one();
        waiting.1 <= WINDOW
    }

    fn end(&self) {
        self.lock().2 = true;
        self.come.notify_one();
    }

    /// The next piece; nothing once there are no more.
    async fn next(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut waiting = self.lock();
                if let Some(bytes) = waiting.0.pop_front() {
                    waiting.1 -= bytes.len();
                    return Some(bytes);
                }
                if waiting.2 {
                    return None;
                }
            }
            self.come.notified().await;
        }
    }
}

/// Where frames to the server go; one at a time.
type Out = tokio::sync::Mutex<tokio::io::WriteHalf<Wire>>;

/// Carries bytes until the process has ended and all of its output is sent. False if the server hung up
/// before.
pub async fn carry(wire: Wire, ends: Ends, channel: &Channel, outcome: impl Future<Output = Outcome>) -> bool {
    let (mut read, write) = tokio::io::split(wire);
    let (write, typed) = (Out::new(write), Typed::default());
    let (near, input, output, errors) = match ends {
        Ends::Terminal(near) => (Some(near), None, None, None),
        Ends::Pipes(Pipes { input, output, errors }) => (None, input, output, errors),
    };
    let near = near.as_ref();
    let feed = async {
        feed(&typed, near, input, &write).await;
        // A process that takes nothing more goes on all the same.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = hear(&mut read, &typed, near, channel) => false,
        () = feed => false,
        shown = show(near, output, errors, outcome, &write) => shown.is_ok(),
    }
}

/// Hears what the server says, until it hangs up.
async fn hear(read: &mut (impl AsyncRead + Unpin), typed: &Typed, near: Option<&Near>, channel: &Channel) {
    while let Some((kind, bytes)) = frames::read(read).await {
        match (kind, &bytes[..]) {
            (Kind::Bytes, _) => {
                if !typed.add(bytes) {
                    return;
                }
            }
            (Kind::InputEnded, _) => typed.end(),
            (Kind::Size, &[a, b, c, d]) => {
                if let Some(near) = near {
                    near.resize(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                }
            }
            (Kind::Signal, name) => {
                // One that does not listen any more is about to end.
                let _ = channel.say(&Order::Signal(String::from_utf8_lossy(name).into_owned()), &[]);
            }
            _ => return,
        }
    }
}

/// Gives the process what was typed, as it takes it.
async fn feed(typed: &Typed, near: Option<&Near>, mut input: Option<Sender>, write: &Out) {
    while let Some(bytes) = typed.next().await {
        let taken = match (near, &mut input) {
            (Some(near), _) => near.type_all(&bytes).await,
            (None, Some(input)) => input.write_all(&bytes).await,
            (None, None) => Ok(()),
        };
        if taken.is_err() {
            // Nobody reads it any more; what still comes is let go.
            input = None;
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
        if write.lock().await.write_all(&frame(Kind::Taken, &length)).await.is_err() {
            return;
        }
    }
}

/// Sends what the process writes, and how it ended.
async fn show(
    near: Option<&Near>,
    mut output: Option<Receiver>,
    mut errors: Option<Receiver>,
    outcome: impl Future<Output = Outcome>,
    write: &Out,
) -> io::Result<()> {
    tokio::pin!(outcome);
    let mut is_shown = near.is_some();
    let outcome = loop {
        tokio::select! {
            // What the process has written comes before its end, without a turn of luck.
            biased;
            piece = from_terminal(near), if is_shown => match piece {
                Some(mut piece) => send(write, Kind::Bytes, &mut piece).await?,
                None => is_shown = false,
            },
            piece = from_pipe(errors.as_ref()), if errors.is_some() => match piece {
                Some(mut piece) => send(write, Kind::Errors, &mut piece).await?,
                None => errors = None,
            },
            piece = from_pipe(output.as_ref()), if output.is_some() => match piece {
                Some(mut piece) => send(write, Kind::Bytes, &mut piece).await?,
                None => output = None,
            },
            outcome = &mut outcome => break outcome,
        }
    };
    // What is left lies in the pipes already; what others write there later is nobody's.
    while let Some(mut piece) = errors.as_ref().and_then(|pipe| at_once(|into| pipe.try_read(into))) {
        send(write, Kind::Errors, &mut piece).await?;
    }
    let rest = || match near {
        Some(near) if is_shown => at_once(|into| near.try_read(into)),
        _ => output.as_ref().and_then(|pipe| at_once(|into| pipe.try_read(into))),
    };
    while let Some(mut piece) = rest() {
        send(write, Kind::Bytes, &mut piece).await?;
    }
    let last = match outcome {
        Outcome::Code(code) => frame(Kind::Ended, &code.to_be_bytes()),
        Outcome::Refused(_) => frame(Kind::Ended, &127_i32.to_be_bytes()),
    };
    let mut write = write.lock().await;
    write.write_all(&last).await?;
    write.shutdown().await
}

async fn send(write: &Out, kind: Kind, piece: &mut [u8]) -> io::Result<()> {
    frames::write_in_place(&mut *write.lock().await, kind, piece).await
}

/// The next piece with room for a head before it; nothing once there are no more.
async fn from_pipe(pipe: Option<&Receiver>) -> Option<Vec<u8>> {
    let pipe = pipe?;
    loop {
        pipe.readable().await.ok()?;
        match read(|into| pipe.try_read(into)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            piece => return piece.ok().flatten(),
        }
    }
}

async fn from_terminal(near: Option<&Near>) -> Option<Vec<u8>> {
    let near = near?;
    loop {
        near.readable().await.ok()?;
        match read(|into| near.try_read(into)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Whatever it is: the system's word for a terminal that nobody has open any more is an error.
            piece => return piece.ok().flatten(),
        }
    }
}

fn at_once(from: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> Option<Vec<u8>> {
    read(from).ok().flatten()
}

fn read(from: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<Option<Vec<u8>>> {
    let mut piece = vec![0; HEAD + PIECE];
    let count = from(&mut piece[HEAD..])?;
    piece.truncate(HEAD + count);
    Ok((count > 0).then_some(piece))
}
