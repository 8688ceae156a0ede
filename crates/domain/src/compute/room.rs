//! Programs that fill the server's disk: which of them is stopped, before there is no room for anybody.

use serde::{Deserialize, Serialize};

use crate::compute::{InstanceId, JobId};

/// Who has written less than this since the last look is not what fills the disk.
const WORTH_STOPPING: u64 = 4 << 20;
/// The same where the disk is full and nobody can write any more: since it began.
const WORTH_BLAMING: u64 = 16 << 20;

/// Something that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    Job { job: JobId, attempt: u32 },
    Instance { instance: InstanceId, generation: u64 },
}

/// What a program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filled {
    /// The disk was getting full, and it wrote the most.
    Disk {
        /// Bytes that it has written.
        wrote: u64,
        /// Bytes that were left.
        free: u64,
    },
    /// Its owner's files have more than they may.
    Limit { used: u64, limit: u64 },
}

impl Filled {
    /// The end of a sentence that starts with the program: `was stopped because …`.
    pub fn phrase(&self) -> String {
        let bytes = crate::files::bytes;
        match self {
            Self::Disk { wrote, free } => format!(
                "was stopped because the server’s disk was filling up: {} were left, and it had written {}",
                bytes(*free),
                bytes(*wrote)
            ),
            Self::Limit { used, limit } => format!(
                "was stopped because its owner’s files kept growing beyond their limit: {} of {}",
                bytes(*used),
                bytes(*limit)
            ),
        }
    }

    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::Disk { .. } => "Delete what isn’t needed, or ask an operator for more room, and start it again.",
            Self::Limit { .. } => "Delete files, or ask an Owner for a higher limit, and start it again.",
        }
    }
}

/// What was seen of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    pub program: Program,
    /// Bytes on disk when it was known to be well: at its start, or at a calm moment since.
    pub calm: u64,
    /// A moment ago.
    pub before: u64,
    pub now: u64,
}

impl Writer {
    const fn grown(&self) -> u64 {
        self.now.saturating_sub(self.before)
    }

    /// What it has written since it was known to be well.
    pub const fn wrote(&self) -> u64 {
        self.now.saturating_sub(self.calm)
    }
}

/// A program that would fill what is free in so many looks, half a minute, is stopped before it does.
const LOOKS_AHEAD: u64 = 100;

/// Which program to stop, now that only so much is free: the one that writes fastest, if it would soon fill
/// the rest. Where the disk is full already (`is_full`), writing has come to a halt, and what has grown most
/// is it.
pub fn whom_to_stop(writers: &[Writer], free: u64, is_full: bool) -> Option<Writer> {
    let fills = |writer: &&Writer| {
        let grown = writer.grown();
        grown >= WORTH_STOPPING && (is_full || grown.saturating_mul(LOOKS_AHEAD) >= free)
    };
    let fastest = writers.iter().filter(fills).max_by_key(|writer| writer.grown());
    let largest = || {
        let grown = writers.iter().filter(|writer| writer.wrote() >= WORTH_BLAMING);
        grown.max_by_key(|writer| writer.wrote()).filter(|_| is_full)
    };
    fastest.or_else(largest).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn writer(job: u64, calm: u64, before: u64, now: u64) -> Writer {
        let program = Program::Job { job: JobId(job), attempt: 1 };
        Writer { program, calm: calm * MIB, before: before * MIB, now: now * MIB }
    }

    #[test]
    fn the_one_that_writes_fastest_goes_not_the_one_that_has_most() {
        let (large, quick) = (writer(1, 0, 9_000, 9_001), writer(2, 0, 10, 60));
        assert_eq!(whom_to_stop(&[large, quick], 4_000 * MIB, false), Some(quick));
        assert_eq!(whom_to_stop(&[large, quick], 0, true), Some(quick));
    }

    #[test]
    fn who_would_not_soon_fill_the_rest_goes_on() {
        let upload = writer(1, 0, 10, 15);
        assert_eq!(whom_to_stop(&[upload], 4_000 * MIB, false), None);
        assert_eq!(whom_to_stop(&[upload], 400 * MIB, false), Some(upload));
    }

    #[test]
    fn nobody_goes_for_what_they_do_not_do() {
        let (large, small) = (writer(1, 8_990, 9_000, 9_001), writer(2, 0, 3, 3));
        assert_eq!(whom_to_stop(&[large, small], 100 * MIB, false), None);
        assert_eq!(whom_to_stop(&[large, small], 0, true), None, "neither has grown by much");
        assert_eq!(whom_to_stop(&[], 0, true), None);
    }

    #[test]
    fn once_the_disk_is_full_the_one_that_has_grown_most_goes() {
        let (calm, filler) = (writer(1, 9_000, 9_000, 9_000), writer(2, 0, 300, 300));
        assert_eq!(whom_to_stop(&[calm, filler], 100 * MIB, false), None, "there is still room");
        assert_eq!(whom_to_stop(&[calm, filler], 0, true), Some(filler));
    }
}
