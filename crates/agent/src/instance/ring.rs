//! The last output of a terminal, at the places where it was printed: whoever looks has a place of their own.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

pub const REMEMBERED: usize = 256 << 10;
/// Nothing more is read while somebody is so far behind.
const TOO_FAR: u64 = (REMEMBERED / 2) as u64;
/// Unless they have taken nothing for so long: then they are left behind.
pub const STALLED: Duration = Duration::from_secs(5);

/// Output with those who look at it.
#[derive(Debug, Default)]
pub struct Ring {
    bytes: VecDeque<u8>,
    /// Where the next byte goes.
    end: u64,
    viewers: HashMap<u64, Viewer>,
    last: u64,
    /// How the shell ended, once all of its output is here.
    pub code: Option<i32>,
}

#[derive(Debug)]
struct Viewer {
    at: u64,
    /// Since when they are waited for and take nothing.
    stalled: Option<Instant>,
}

/// What there is for somebody who looks.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Bytes(Vec<u8>),
    Wait,
    /// Nothing any more: the shell has ended.
    Ended(i32),
    /// They were too slow.
    LeftBehind,
}

impl Ring {
    fn start(&self) -> u64 {
        self.end - self.bytes.len() as u64
    }

    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.end += bytes.len() as u64;
        let over = self.bytes.len().saturating_sub(REMEMBERED);
        self.bytes.drain(..over);
    }

    /// Somebody begins to look, at what is remembered first.
    pub fn join(&mut self) -> u64 {
        let start = self.start();
        // Where something was forgotten, the first line is not whole.
        let line = if start == 0 { None } else { self.bytes.iter().position(|byte| *byte == b'\n') };
        let at = start + line.map_or(0, |at| at as u64 + 1);
        self.last += 1;
        self.viewers.insert(self.last, Viewer { at, stalled: None });
        self.last
    }

    /// They look no more.
    pub fn leave(&mut self, viewer: u64) {
        self.viewers.remove(&viewer);
    }

    /// What is next for somebody, at most so much.
    pub fn next(&mut self, viewer: u64, most: usize) -> Next {
        let start = self.start();
        let Some(viewer) = self.viewers.get_mut(&viewer) else { return Next::LeftBehind };
        viewer.stalled = None;
        let from = usize::try_from(viewer.at.max(start) - start).unwrap_or(usize::MAX);
        let to = from.saturating_add(most).min(self.bytes.len());
        if from < to {
            viewer.at = start + to as u64;
            return Next::Bytes(self.bytes.range(from..to).copied().collect());
        }
        self.code.map_or(Next::Wait, Next::Ended)
    }

    /// Whether more may be printed. Nobody waits for ever for those who look and do not take it.
    pub fn has_room(&mut self, now: Instant) -> bool {
        let end = self.end;
        let is_far = |viewer: &Viewer| end - viewer.at.min(end) > TOO_FAR;
        self.viewers
            .retain(|_, viewer| !is_far(viewer) || now.duration_since(*viewer.stalled.get_or_insert(now)) < STALLED);
        !self.viewers.values().any(is_far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_a_place_of_their_own() {
        let mut ring = Ring::default();
        ring.append(b"one ");
        let first = ring.join();
        assert_eq!(ring.next(first, 100), Next::Bytes(b"one ".to_vec()));
        assert_eq!(ring.next(first, 100), Next::Wait);
        ring.append(b"two");
        let second = ring.join();
        assert_eq!(ring.next(second, 5), Next::Bytes(b"one t".to_vec()));
        assert_eq!(ring.next(first, 100), Next::Bytes(b"two".to_vec()));
        ring.code = Some(3);
        assert_eq!(ring.next(first, 100), Next::Ended(3));
        assert_eq!(ring.next(second, 100), Next::Bytes(b"wo".to_vec()));
        assert_eq!(ring.next(second, 100), Next::Ended(3));
    }

    #[test]
    fn what_is_forgotten_ends_with_a_line() {
        let mut ring = Ring::default();
        ring.append(b"a line that is forgotten\n");
        ring.append(&vec![b'x'; REMEMBERED - 2]);
        ring.append(b"\nlast\n");
        let viewer = ring.join();
        assert_eq!(ring.next(viewer, 100), Next::Bytes(b"last\n".to_vec()));
    }

    #[test]
    fn slow_ones_are_waited_for_and_then_left_behind() {
        let (mut ring, now) = (Ring::default(), crate::clock::now());
        let viewer = ring.join();
        ring.append(&vec![b'x'; REMEMBERED / 2 + 1]);
        assert!(!ring.has_room(now));
        ring.next(viewer, 10);
        assert!(ring.has_room(now));
        ring.append(&vec![b'x'; 1_000]);
        // From then on, however long ago they took something before.
        let now = now + 10 * STALLED;
        assert!(!ring.has_room(now));
        assert!(!ring.has_room(now + STALLED / 2));
        assert!(ring.has_room(now + STALLED));
        assert_eq!(ring.next(viewer, 10), Next::LeftBehind);
    }
}
