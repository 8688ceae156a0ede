//! A process in an instance, seen from a channel.

use std::sync::Arc;

use atelier_pipe::Wire;
use atelier_protocol::remote::{HEAD, Kind, MAX_FRAME, WINDOW, frame, head, read_head};
use russh::ChannelWriteHalf;
use russh::server::Msg;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Receiver;

use crate::handler::Connection;
use crate::intake::Inbox;

/// What a client says to a session beside its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Its terminal is now so wide and high.
    Size(u16, u16),
    /// A signal, by its name.
    Signal(String),
}

/// The number of standard error among a channel's kinds of data.
pub const ERRORS: u32 = 1;

/// Carries bytes until the process has ended; its code. Nothing if the stream broke.
pub async fn carry(
    connection: &Connection,
    inbox: Arc<Inbox>,
    control: &mut Receiver<Control>,
    write: &ChannelWriteHalf<Msg>,
    wire: Wire,
) -> Option<i32> {
    let (read, mut to) = tokio::io::split(wire);
    // So much the agent has room for.
    let room = Semaphore::new(WINDOW);
    let inward = async {
        let mut is_open = true;
        loop {
            let next = tokio::select! {
                Some(control) = control.recv() => Some(control),
                bytes = input(&inbox, &room), if is_open => {
                    let written = match &bytes {
                        Some(bytes) => {
                            connection.count(bytes.len(), 0);
                            send(&mut to, bytes).await
                        }
                        None => to.write_all(&head(Kind::InputEnded, 0)).await,
                    };
                    is_open = bytes.is_some() && written.is_ok();
                    None
                }
                else => return,
            };
            let words = match next {
                Some(Control::Size(columns, rows)) => {
                    let ([a, b], [c, d]) = (columns.to_be_bytes(), rows.to_be_bytes());
                    frame(Kind::Size, &[a, b, c, d])
                }
                Some(Control::Signal(name)) => frame(Kind::Signal, name.as_bytes()),
                None => continue,
            };
            if to.write_all(&words).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        code = outward(connection, read, write, &room) => code,
        () = async {
            inward.await;
            std::future::pending::<()>().await;
        } => None,
    }
}

/// What was typed, as much as there is room for; it takes that room.
async fn input(inbox: &Inbox, room: &Semaphore) -> Option<Vec<u8>> {
    // At least one byte, so that nothing is taken from the inbox that could not be sent.
    let first = room.acquire().await.ok()?;
    let most = (room.available_permits() + 1).min(MAX_FRAME);
    let bytes = inbox.take(most).await?;
    first.forget();
    let rest = u32::try_from(bytes.len() - 1).unwrap_or(u32::MAX);
    if let Ok(rest) = room.try_acquire_many(rest) {
        rest.forget();
    }
    Some(bytes)
}

async fn send(to: &mut (impl tokio::io::AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(&head(Kind::Bytes, bytes.len())).await?;
    to.write_all(bytes).await
}

async fn outward(
    connection: &Connection,
    read: impl AsyncRead + Unpin,
    write: &ChannelWriteHalf<Msg>,
    room: &Semaphore,
) -> Option<i32> {
    let mut read = BufReader::with_capacity(64 << 10, read);
    loop {
        let mut first = [0; HEAD];
        read.read_exact(&mut first).await.ok()?;
        let (kind, length) = read_head(first).ok()?;
        let mut bytes = vec![0; length];
        read.read_exact(&mut bytes).await.ok()?;
        match (kind, &bytes[..]) {
            (Kind::Bytes, _) => {
                connection.count(0, length);
                write.data_bytes(bytes).await.ok()?;
            }
            (Kind::Errors, _) => {
                connection.count(0, length);
                write.extended_data_bytes(ERRORS, bytes).await.ok()?;
            }
            (Kind::Taken, &[a, b, c, d]) => {
                let taken = u32::from_be_bytes([a, b, c, d]) as usize;
                // More than was sent is nothing that an agent says.
                room.add_permits(taken.min(WINDOW.saturating_sub(room.available_permits())));
            }
            (Kind::Ended, &[a, b, c, d]) => return Some(i32::from_be_bytes([a, b, c, d])),
            _ => return None,
        }
    }
}
