//! Whether somebody types in VS Code, by what its page sends over its WebSockets.
//!
//! A tab that was left open talks all the time: signs of life every few seconds, confirmations, answers to
//! what extensions ask. None of that is somebody at work, and neither is a file that a program changes while
//! it is open. What people do, the page tells: the cursor was moved with the keyboard (which typing does) or
//! with the mouse, something was typed into a terminal. Those signs are looked for, and only those count.
//! They belong to the version of code-server that this product installs; what it does in a browser is tested
//! with it (`cargo xtask test --only vscode`).

use std::io::{self, Cursor};
use std::pin::Pin;
use std::task::{Context, Poll};

use atelier_pipe::Wire;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

/// What only people cause: the cursor was moved with the keyboard or the mouse, a terminal was typed into.
/// That a document was changed is told also of reloads from the disk and of what extensions do.
const DEEDS: [&[u8]; 3] = [br#""source":"keyboard""#, br#""source":"mouse""#, b"$input"];
/// As long as the longest of them, less one: what may stand at the end of one piece and go on in the next.
const OVERLAP: usize = 18;

/// Reads the frames that a browser sends, as they pass by. Nothing is changed, and what is not understood
/// counts for nothing.
#[derive(Debug, Default)]
pub struct Listener {
    /// What was read of the head of a frame.
    head: Vec<u8>,
    /// How many bytes of the frame's content are left.
    left: u64,
    /// Its mask, turned to the next byte.
    mask: [u8; 4],
    /// The end of what was read of the present message.
    last: Vec<u8>,
    /// Something came that is no frame.
    is_lost: bool,
}

impl Listener {
    /// Hears what passes by; says whether somebody has done something in it.
    pub fn hears(&mut self, mut bytes: &[u8]) -> bool {
        let mut has_done = false;
        while !bytes.is_empty() && !self.is_lost {
            if self.left == 0 {
                self.head.push(bytes[0]);
                bytes = &bytes[1..];
                self.begin();
                continue;
            }
            let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let (piece, rest) = bytes.split_at(count);
            bytes = rest;
            for byte in piece {
                self.last.push(byte ^ self.mask[0]);
                self.mask.rotate_left(1);
            }
            has_done |= has_deed(&self.last);
            let old = self.last.len().saturating_sub(OVERLAP);
            self.last.drain(..old);
            self.left -= count as u64;
        }
        has_done
    }

    /// Begins a frame, if its head is there.
    fn begin(&mut self) {
        match FrameHeader::parse(&mut Cursor::new(&self.head)) {
            Ok(Some((header, length))) => {
                self.head.clear();
                (self.left, self.mask) = (length, header.mask.unwrap_or_default());
                // A message may come in several frames; another begins here unless this goes on with one.
                if header.opcode != OpCode::Data(Data::Continue) {
                    self.last.clear();
                }
            }
            Ok(None) => {}
            Err(_) => self.is_lost = true,
        }
    }
}

fn has_deed(bytes: &[u8]) -> bool {
    DEEDS.iter().any(|deed| bytes.windows(deed.len()).any(|part| part == *deed))
}

/// The browser's end of a connection, listened to.
pub struct Tapped<F> {
    wire: Wire,
    listener: Listener,
    tell: F,
}

impl<F: Fn() + Send + Unpin + 'static> Tapped<F> {
    /// Whatever somebody does in it is told.
    pub fn wire(wire: Wire, tell: F) -> Wire {
        Wire::other(Self { wire, listener: Listener::default(), tell })
    }
}

impl<F: Fn() + Unpin> AsyncRead for Tapped<F> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        let before = into.filled().len();
        let read = Pin::new(&mut it.wire).poll_read(context, into);
        if matches!(read, Poll::Ready(Ok(()))) && it.listener.hears(&into.filled()[before..]) {
            (it.tell)();
        }
        read
    }
}

impl<F: Unpin> AsyncWrite for Tapped<F> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().wire).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame as browsers send them.
    fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
        let mask = [0x12, 0x34, 0x56, 0x78];
        let mut frame = vec![0x80 | kind];
        match content.len() {
            length @ 0..126 => frame.push(0x80 | u8::try_from(length).expect("short")),
            length @ 126..65_536 => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(length).expect("short").to_be_bytes());
            }
            length => {
                frame.push(0x80 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        frame
    }

    fn hears(bytes: &[u8]) -> bool {
        Listener::default().hears(bytes)
    }

    #[test]
    fn an_open_tab_is_silent_and_typing_is_heard() {
        // A sign of life, a confirmation and an answer, as the page of code-server sends them.
        let keep_alive = [9, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0];
        let confirmation = [3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0];
        let mut answer = vec![1, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 40];
        answer.extend(b"{\"result\":[\"$acceptNothing\"]}");
        // A file that a program has changed, and a cursor that an extension has moved.
        let reload = b"$acceptModelChanged[{\"changes\":[]}]";
        let moved = b"$acceptEditorPropertiesChanged{\"selections\":{\"source\":\"api\"}}";
        for quiet in [&keep_alive[..], &confirmation, &answer, reload, moved, b""] {
            assert!(!hears(&frame(2, quiet)));
        }
        assert!(!hears(&frame(9, b"ping")));
        for deed in DEEDS {
            let mut call = vec![1, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 1, 0];
            call.extend(deed);
            call.extend(vec![b'x'; 300]);
            assert!(hears(&frame(2, &call)));
            let long: Vec<u8> = vec![b'y'; 70_000].into_iter().chain(call).collect();
            assert!(hears(&frame(2, &long)));
        }
    }

    #[test]
    fn pieces_and_frames_that_follow_each_other_are_read() {
        let bytes: Vec<u8> = [frame(2, b"quiet"), frame(9, b""), frame(2, b"..\"source\":\"mouse\"..")].concat();
        let mut listener = Listener::default();
        let heard: Vec<bool> = bytes.iter().map(|byte| listener.hears(&[*byte])).collect();
        assert!(heard.contains(&true));
        // What only looks so across two messages does not count.
        assert!(!hears(&[frame(2, b"..\"source\":"), frame(2, b"\"keyboard\"..")].concat()));
        // A message in two frames is one.
        let mut first = frame(2, b"..\"source\":");
        first[0] &= 0x7f;
        assert!(hears(&[first, frame(0, b"\"keyboard\"..")].concat()));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_heard_without_harm(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            cut in 0_usize..400,
        ) {
            let whole = hears(&bytes);
            let mut listener = Listener::default();
            let (one, other) = bytes.split_at(cut.min(bytes.len()));
            // In pieces it is the same.
            let (first, second) = (listener.hears(one), listener.hears(other));
            prop_assert_eq!(whole, first || second);
        }
    }
}
