//! What a session of somebody who came in by SSH runs, and the frames on the stream to it: one byte for the
//! kind, four for the length, then the bytes.
//!
//! What is typed may wait at the agent until the program takes it, and it must not keep signals, sizes and
//! the end of the connection from being heard. So the server sends no more than [`WINDOW`] bytes of input
//! that the agent has not said to be taken ([`Kind::Taken`]); whatever comes is read at once.

use serde::{Deserialize, Serialize};

pub const MAX_FRAME: usize = 256 << 10;
/// The bytes before each frame's own.
pub const HEAD: usize = 5;
/// So much input may be on its way.
pub const WINDOW: usize = 1 << 20;
pub const MAX_COMMAND: usize = 128 << 10;

/// What is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStart {
    /// For the person's shell; none means the shell itself, as at a login.
    pub command: Option<String>,
    /// In a terminal of that kind and size; else with input, output and errors apart.
    pub terminal: Option<Screen>,
    /// Variables beside those of the instance.
    pub environment: Vec<(String, String)>,
}

/// A terminal as its user has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    /// Its kind, such as `xterm-256color`.
    pub term: String,
    /// How wide it is.
    pub columns: u16,
    pub rows: u16,
}

/// Something that listens, as seen from inside an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    Tcp {
        host: String,
        port: u16,
    },
    /// A socket of the file system.
    Socket(String),
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Input one way, output the other.
    Bytes,
    /// Columns and rows of the terminal, two bytes each. To the session.
    Size,
    /// There is no more input. To the session.
    InputEnded,
    /// The name of a signal for all that runs in it. To the session.
    Signal,
    /// What went to standard error. From the session.
    Errors,
    /// So many bytes of input were taken, four bytes. From the session.
    Taken,
    /// The session has ended with that code, four bytes, which is 128 and its number after a signal: its last
    /// frame.
    Ended,
}

const KINDS: [Kind; 7] =
    [Kind::Bytes, Kind::Size, Kind::InputEnded, Kind::Signal, Kind::Errors, Kind::Taken, Kind::Ended];

/// Why what came is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what came is no frame of a session")]
pub struct Strange;

/// What comes before a frame's own bytes.
pub fn head(kind: Kind, length: usize) -> [u8; HEAD] {
    let number = KINDS.iter().position(|known| *known == kind).and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX);
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    [number, a, b, c, d]
}

/// A whole frame, for short ones.
pub fn frame(kind: Kind, bytes: &[u8]) -> Vec<u8> {
    let mut all = head(kind, bytes.len()).to_vec();
    all.extend(bytes);
    all
}

/// What a frame is and how long; its bytes follow.
pub fn read_head(head: [u8; HEAD]) -> Result<(Kind, usize), Strange> {
    let [number, length @ ..] = head;
    let kind = KINDS.get(usize::from(number)).copied().ok_or(Strange)?;
    let length = u32::from_be_bytes(length) as usize;
    let fits = match kind {
        Kind::Bytes | Kind::Errors => (1..=MAX_FRAME).contains(&length),
        Kind::Size | Kind::Taken | Kind::Ended => length == 4,
        Kind::InputEnded => length == 0,
        Kind::Signal => (1..=16).contains(&length),
    };
    if fits { Ok((kind, length)) } else { Err(Strange) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn heads_come_out_as_they_went_in_and_lengths_have_limits() {
        for (kind, length) in [
            (Kind::Bytes, 1),
            (Kind::Errors, MAX_FRAME),
            (Kind::Size, 4),
            (Kind::InputEnded, 0),
            (Kind::Signal, 4),
            (Kind::Taken, 4),
            (Kind::Ended, 4),
        ] {
            assert_eq!(read_head(head(kind, length)), Ok((kind, length)));
        }
        for (kind, length) in [(Kind::Bytes, MAX_FRAME + 1), (Kind::Bytes, 0), (Kind::Size, 3), (Kind::Signal, 17)] {
            assert_eq!(read_head(head(kind, length)), Err(Strange));
        }
        assert_eq!(frame(Kind::Taken, &[0, 0, 0, 9])[..HEAD], head(Kind::Taken, 4));
    }

    proptest! {
        #[test]
        fn nothing_that_comes_makes_it_panic(bytes in any::<[u8; HEAD]>()) {
            let _ = read_head(bytes);
        }
    }
}
