//! Where a reader of a log stands, and where text may be cut.

use atelier_domain::compute::{JobId, NodeId};
use atelier_engine::fleet::LogName;

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub name: LogName,
    /// How much of it is known, in bytes.
    pub offset: u64,
}

impl Mark {
    /// Reads what [`Mark::id`] writes.
    pub fn parse(job: JobId, text: &str) -> Option<Self> {
        let mut numbers = text.split('-').map(str::parse::<u64>);
        let (attempt, node, offset) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        let name = LogName { job, attempt: u32::try_from(attempt).ok()?, node: NodeId(node) };
        Some(Self { name, offset })
    }

    /// As it is sent: `attempt-node-offset`.
    pub fn id(self) -> String {
        format!("{}-{}-{}", self.name.attempt, self.name.node.0, self.offset)
    }
}

/// How many bytes there are up to a character that is not there whole yet.
pub fn whole_characters(bytes: &[u8]) -> usize {
    let length = bytes.len();
    for back in 1..=length.min(3) {
        let byte = bytes[length - back];
        let needed = match byte {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            // It goes on further to the left.
            0x80..=0xbf => continue,
            _ => return length,
        };
        return if needed > back { length - back } else { length };
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_not_torn_apart() {
        for (text, whole) in
            [(&b"abc"[..], 3), ("é".as_bytes(), 2), (b"a\xc3", 1), (b"\xf0\x9f\x98", 0), (b"\xff\xff", 2)]
        {
            assert_eq!(whole_characters(text), whole, "{text:?}");
        }
    }

    #[test]
    fn marks_read_what_they_write() {
        let mark = Mark { name: LogName { job: JobId(7), attempt: 2, node: NodeId(9) }, offset: 81 };
        assert_eq!(Mark::parse(JobId(7), &mark.id()), Some(mark));
        for text in ["", "1-2", "a-b-c", "99999999999-1-1"] {
            assert_eq!(Mark::parse(JobId(7), text), None, "{text}");
        }
    }
}
