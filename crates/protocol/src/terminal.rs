//! Frames on a stream to a terminal: one byte for the kind, four for the length, then the bytes.
//!
//! A stream has no messages of its own; these are few and small, so they need no more.

pub const MAX_FRAME: usize = 64 << 10;
/// The bytes before each frame's own.
pub const HEAD: usize = 5;

/// What goes over the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalFrame {
    /// What was typed, or what was printed.
    Bytes(Vec<u8>),
    /// The window's size: columns and rows. Only to the terminal.
    Size(u16, u16),
    /// The shell has ended, with that code. Only from the terminal; the last.
    Ended(i32),
}

const BYTES: u8 = 0;
const SIZE: u8 = 1;
const ENDED: u8 = 2;

/// Why what came is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what came is no frame of a terminal")]
pub struct Strange;

impl TerminalFrame {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |kind: u8, bytes: &[u8]| {
            out.push(kind);
            out.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
            out.extend(bytes);
        };
        match self {
            Self::Bytes(bytes) => bytes.chunks(MAX_FRAME).for_each(|piece| put(BYTES, piece)),
            Self::Size(columns, rows) => {
                let [a, b] = columns.to_be_bytes();
                let [c, d] = rows.to_be_bytes();
                put(SIZE, &[a, b, c, d]);
            }
            Self::Ended(code) => put(ENDED, &code.to_be_bytes()),
        }
    }

    /// Reads one off the front, and says how many bytes it was; nothing if there is not all of it yet.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Strange> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
        let [kind, length @ ..] = *head;
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_FRAME || kind > ENDED {
            return Err(Strange);
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = match (kind, body) {
            (BYTES, body) => Self::Bytes(body.to_vec()),
            (SIZE, &[a, b, c, d]) => Self::Size(u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
            (ENDED, &[a, b, c, d]) => Self::Ended(i32::from_be_bytes([a, b, c, d])),
            _ => return Err(Strange),
        };
        Ok(Some((frame, HEAD + length)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_frame() -> impl Strategy<Value = TerminalFrame> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 1..2_000).prop_map(TerminalFrame::Bytes),
            (any::<u16>(), any::<u16>()).prop_map(|(columns, rows)| TerminalFrame::Size(columns, rows)),
            any::<i32>().prop_map(TerminalFrame::Ended),
        ]
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in(
            frames in proptest::collection::vec(any_frame(), 0..20),
            cut in 0usize..4_000,
        ) {
            let mut bytes = Vec::new();
            frames.iter().for_each(|frame| frame.encode(&mut bytes));
            // What is cut short is not a frame yet, and never a different one.
            let (mut read, mut at, end) = (Vec::new(), 0, bytes.len() - cut.min(bytes.len()));
            while let Some((frame, length)) = TerminalFrame::decode(&bytes[at..end]).unwrap() {
                read.push(frame);
                at += length;
            }
            prop_assert!(frames.starts_with(&read));
            prop_assert!(cut > 0 || read == frames);
        }

        #[test]
        fn nothing_that_comes_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = TerminalFrame::decode(&bytes);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_it_is_waited_for() {
        assert_eq!(TerminalFrame::decode(&[0, 0xff, 0, 0, 0]), Err(Strange));
        assert_eq!(TerminalFrame::decode(&[9, 0, 0, 0, 0]), Err(Strange));
        assert_eq!(TerminalFrame::decode(&[1, 0, 0, 0, 1, 7]), Err(Strange));
    }
}
