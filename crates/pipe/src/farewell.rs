//! Two connections as one until somebody has to go, who then hears why: a WebSocket's last frame, said where
//! one may be said, between two frames of the application.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use crate::join::{again, carry, write_all};
use crate::wire::Wire;

/// The most bytes of a reason, by the protocol.
const LONGEST: usize = 123;

/// Carries bytes both ways until both ends have said all, or until `closed` comes. Then nothing passes any
/// more; `browser` gets the last `words`, if what it was sent so far ends with a whole frame, and both are
/// closed.
pub async fn join_until(
    browser: Wire,
    other: Wire,
    closed: impl Future<Output = ()>,
    words: impl Future<Output = Vec<u8>>,
) -> io::Result<()> {
    let (browser, mut other) = match (browser.bare(), other.bare()) {
        (Ok((browser, forth)), Ok((other, back))) => {
            let written = Written::default();
            let both = async {
                tokio::try_join!(carry(&browser, &other, forth, None), carry(&other, &browser, back, Some(&written)))
            };
            tokio::select! {
                ended = both => return ended.map(drop),
                () = closed => {}
            }
            drop(other);
            if written.is_between() {
                write_all(&browser, &words.await, None).await?;
            }
            browser.hang_up();
            return Ok(());
        }
        (browser, other) => (again(browser), again(other)),
    };
    let mut browser = Counted { wire: browser, frames: Frames::default() };
    tokio::select! {
        ended = tokio::io::copy_bidirectional(&mut browser, &mut other) => return ended.map(drop),
        () = closed => {}
    }
    drop(other);
    if browser.frames.is_between() {
        browser.wire.write_all(&words.await).await?;
    }
    browser.wire.shutdown().await
}

/// What was written to a connection, in frames.
#[derive(Debug, Default)]
pub(crate) struct Written(Mutex<Frames>);

impl Written {
    pub(crate) fn pass(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pass(bytes);
    }

    fn is_between(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_between()
    }
}

/// A server's last frame: its code, and a reason that is shortened to what fits.
pub fn close_frame(code: u16, reason: &str) -> Vec<u8> {
    let mut end = reason.len().min(LONGEST);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let reason = &reason.as_bytes()[..end];
    let mut frame = vec![0x88, u8::try_from(2 + reason.len()).unwrap_or(2)];
    frame.extend(code.to_be_bytes());
    frame.extend(reason);
    frame
}

/// Where in the frames of a WebSocket its bytes are.
#[derive(Debug, Default)]
struct Frames {
    head: Vec<u8>,
    /// Bytes of the present frame's content that are to come.
    left: u64,
}

impl Frames {
    /// Whether a frame has just ended, or none has begun.
    const fn is_between(&self) -> bool {
        self.head.is_empty() && self.left == 0
    }

    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
                self.left -= count as u64;
                bytes = &bytes[count..];
                continue;
            }
            self.head.push(bytes[0]);
            bytes = &bytes[1..];
            let Some(second) = self.head.get(1) else { continue };
            let length_bytes = match second & 0x7f {
                126 => 2,
                127 => 8,
                _ => 0,
            };
            let mask_bytes = if second & 0x80 == 0 { 0 } else { 4 };
            if self.head.len() < 2 + length_bytes + mask_bytes {
                continue;
            }
            self.left = match length_bytes {
                0 => u64::from(second & 0x7f),
                _ => self.head[2..2 + length_bytes].iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)),
            };
            self.head.clear();
        }
    }
}

/// A connection of which it is known what was written to it.
struct Counted {
    wire: Wire,
    frames: Frames,
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_read(context, into)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.wire).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.frames.pass(&bytes[..count]);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::UnixStream;

    use super::*;

    /// What a browser hears when it has to go after the application has sent that.
    async fn heard(sent: &[u8], is_bare: bool) -> Vec<u8> {
        let ((mut browser, one), (mut application, two)) =
            (UnixStream::pair().expect("a pair"), UnixStream::pair().expect("a pair"));
        let one = if is_bare { Wire::from(one) } else { Wire::other(one) };
        let (go, parting) = tokio::sync::oneshot::channel();
        let words = async { close_frame(1008, "You are signed out.") };
        let joined = tokio::spawn(join_until(one, two.into(), async { drop(parting.await) }, words));
        application.write_all(sent).await.expect("sent");
        let mut all = vec![0; sent.len()];
        browser.read_exact(&mut all).await.expect("what was sent");
        assert_eq!(all, sent);
        go.send(()).expect("it waits");
        joined.await.expect("ends").expect("well");
        let mut last = Vec::new();
        browser.read_to_end(&mut last).await.expect("closed");
        last
    }

    #[tokio::test]
    async fn who_has_to_go_hears_why_between_two_frames() {
        let long = [&[0x82, 126, 0x01, 0x00][..], &[7; 256]].concat();
        for is_bare in [true, false] {
            for whole in [&b""[..], &[0x81, 2, b'h', b'i'], &long] {
                let last = heard(whole, is_bare).await;
                assert_eq!(last[..4], [0x88, 21, 0x03, 0xf0], "a close frame with code 1008");
                assert_eq!(&last[4..], b"You are signed out.");
            }
            for part in [&[0x81][..], &[0x81, 2, b'h'], &long[..100]] {
                assert_eq!(heard(part, is_bare).await, b"", "nothing is said within a frame");
            }
        }
    }

    #[test]
    fn a_reason_is_cut_where_it_can_be() {
        let frame = close_frame(1001, &"é".repeat(100));
        assert_eq!((frame[1], frame.len()), (124, 126));
        assert!(std::str::from_utf8(&frame[4..]).is_ok());
    }
}
