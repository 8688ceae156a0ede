//! The output of a part of a job, from the pipe to the server: kept until the server has it, in memory while
//! it is little, on disk when it is more. On disk everything has its true offset, so that the server can read
//! on there if this agent dies.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{FallocateFlags, fallocate};

/// The longest output of one part; the rest is counted, not kept.
const LONGEST: u64 = 4 << 30;
/// The server has so much more, and the file gives it back to the disk.
const GIVE_BACK: u64 = 16 << 20;

/// The output of one part.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    /// What is neither kept by the server nor in the file: from `filed` to `written`.
    memory: VecDeque<u8>,
    /// Has each byte at its offset; what the server has kept may be a hole.
    file: Option<File>,
    /// Up to here the file has given back its space.
    given_back: u64,
    /// Up to here output is in the file, or kept by the server.
    filed: u64,
    kept: u64,
    sent: u64,
    written: u64,
    dropped: u64,
    longest: u64,
    /// The disk did not take it.
    is_stuck: bool,
}

impl Log {
    /// Nothing yet. What does not fit into memory will go to `path`.
    pub const fn new(path: PathBuf) -> Self {
        Self {
            path,
            memory: VecDeque::new(),
            file: None,
            given_back: 0,
            filed: 0,
            kept: 0,
            sent: 0,
            written: 0,
            dropped: 0,
            longest: LONGEST,
            is_stuck: false,
        }
    }

    /// Output of the job. Never fails: what the disk does not take stays in memory, and [`Self::has_room`]
    /// says no.
    pub fn append(&mut self, bytes: &[u8], in_memory: usize) {
        let room = usize::try_from(self.longest.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let (bytes, rest) = bytes.split_at(bytes.len().min(room));
        self.dropped += rest.len() as u64;
        self.memory.extend(bytes);
        self.written += bytes.len() as u64;
        self.spill(in_memory);
    }

    /// The job has ended; says how much was dropped, if anything was.
    pub fn finish(&mut self) {
        if self.dropped > 0 {
            let line = format!(
                "\n[atelier: the output is longer than {} bytes; {} more were dropped]\n",
                self.longest, self.dropped
            );
            self.memory.extend(line.as_bytes());
            self.written += line.len() as u64;
        }
    }

    /// Moves what is too much for memory to the file.
    fn spill(&mut self, in_memory: usize) {
        if self.memory.len() <= in_memory {
            self.is_stuck = false;
            return;
        }
        match self.try_spill() {
            Ok(()) => self.is_stuck = false,
            Err(error) => {
                if !self.is_stuck {
                    let file = self.path.display();
                    tracing::warn!(%file, %error, "output cannot be written to disk; the job has to wait");
                }
                self.is_stuck = true;
            }
        }
    }

    fn try_spill(&mut self) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => {
                self.given_back = self.filed;
                let open = File::options().read(true).write(true).create(true).truncate(true).open(&self.path)?;
                self.file.insert(open)
            }
        };
        while !self.memory.is_empty() {
            let count = file.write_at(self.memory.as_slices().0, self.filed)?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.memory.drain(..count);
            self.filed += count as u64;
        }
        self.memory.shrink_to(64 << 10);
        Ok(())
    }

    /// Whether more may be read from the job: so much may wait for the server, and the disk must take what is
    /// too much for memory.
    pub fn has_room(&mut self, limit: u64, in_memory: usize) -> bool {
        if self.is_stuck {
            self.spill(in_memory);
        }
        !self.is_stuck && self.written - self.kept < limit
    }

    /// The next piece for the server.
    pub fn next(&mut self, most: usize) -> Option<(u64, Vec<u8>)> {
        let offset = self.sent;
        let bytes = if offset >= self.written {
            return None;
        } else if offset < self.filed {
            let length = most.min(usize::try_from(self.filed - offset).unwrap_or(most));
            let mut bytes = vec![0; length];
            let read = self.file.as_ref().map(|file| file.read_exact_at(&mut bytes, offset));
            if !matches!(read, Some(Ok(()))) {
                // Lost with the disk. Offsets must stay true, and the part must come to its end.
                tracing::error!(file = %self.path.display(), length, "output that waited on disk cannot be read");
                bytes.fill(b'?');
            }
            bytes
        } else {
            let from = usize::try_from(offset - self.filed).unwrap_or(0);
            let to = self.memory.len().min(from + most);
            self.memory.range(from..to).copied().collect()
        };
        self.sent += bytes.len() as u64;
        Some((offset, bytes))
    }

    /// The server has kept so much. Returns how much of what is under way that settles.
    pub fn keep(&mut self, length: u64) -> u64 {
        let length = length.min(self.written);
        if length <= self.kept {
            return 0;
        }
        let settled = length.min(self.sent).saturating_sub(self.kept);
        self.kept = length;
        self.sent = self.sent.max(length);
        if self.kept >= self.filed {
            self.memory.drain(..usize::try_from(self.kept - self.filed).unwrap_or(0));
            self.filed = self.kept;
            if let Some(file) = &self.file {
                drop(file.set_len(0));
                self.given_back = self.filed;
            }
        } else if self.kept - self.given_back >= GIVE_BACK
            && let Some(file) = &self.file
        {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Not every file system can; then the file is long until the end of the job.
            let _ = fallocate(file, flags, self.given_back, self.kept - self.given_back);
            self.given_back = self.kept;
        }
        settled
    }

    /// Begins again with what the server has: everything that was under way is lost. Returns how much that
    /// was.
    pub fn rewind(&mut self) -> u64 {
        let lost = self.sent - self.kept;
        self.sent = self.kept;
        lost
    }

    /// Whether everything was sent.
    pub const fn is_sent(&self) -> bool {
        self.sent == self.written
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(log: &mut Log) -> Vec<u8> {
        let mut found = Vec::new();
        while let Some((_, bytes)) = log.next(7) {
            found.extend(bytes);
        }
        found
    }

    #[test]
    fn output_comes_back_whole_from_memory_and_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::new(folder.path().join("log"));
        log.append(b"in memory, ", 16);
        assert!(!folder.path().join("log").exists());
        log.append(b"on disk, ", 16);
        assert!(folder.path().join("log").exists());
        log.append(b"and more", 16);
        assert_eq!(all(&mut log), b"in memory, on disk, and more");
        assert!(log.is_sent());
        assert_eq!(log.keep(5), 5);
        assert_eq!(log.rewind(), 23);
        assert_eq!(all(&mut log), b"mory, on disk, and more");
        log.keep(28);
        log.append(b"!", 16);
        assert_eq!(all(&mut log), b"!");
        drop(log);
        assert!(!folder.path().join("log").exists());
    }

    #[test]
    fn a_full_disk_makes_the_job_wait_and_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let full = folder.path().join("log");
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let mut log = Log::new(full);
        log.append(&[b'x'; 100], 10);
        assert!(!log.has_room(1_000, 10));
        assert_eq!(all(&mut log).len(), 100);
        log.keep(95);
        assert!(log.has_room(1_000, 10));
    }

    #[test]
    fn what_is_too_long_is_counted() {
        let mut log = Log::new(PathBuf::new());
        log.longest = 10;
        log.append(&[b'x'; 25], 100);
        log.finish();
        let text = String::from_utf8(all(&mut log)).unwrap();
        assert!(text.starts_with("xxxxxxxxxx\n") && text.contains("15 more were dropped"), "{text}");
    }
}
