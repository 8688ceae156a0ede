//! Logs of an instance: written by the agent, so that nobody else can change them; bounded; followed while
//! they grow.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atelier_pipe::Wire;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

/// The end of a log that is remembered: it is told when something goes wrong, also when the disk is full.
const TAIL: usize = 16 << 10;
/// What a follower is sent at once.
const PIECE: usize = 64 << 10;

/// What happens with a log that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// What comes later is left out.
    Cut,
    /// It is put aside, once, and begins anew.
    Rotate,
}

/// How far a log is: how often it began anew, and its length.
type Mark = (u64, u64);

/// A log.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    limit: u64,
    full: Full,
    inner: Mutex<Inner>,
    grown: watch::Sender<Mark>,
}

#[derive(Debug, Default)]
struct Inner {
    file: Option<File>,
    is_cut: bool,
    tail: VecDeque<u8>,
}

impl LogFile {
    /// At that place, where one may be already; at most so long. It is opened when there is something to
    /// write.
    pub fn new(path: PathBuf, limit: u64, full: Full) -> Arc<Self> {
        let length = std::fs::metadata(&path).map_or(0, |found| found.len());
        let (grown, _) = watch::channel((0, length));
        Arc::new(Self { path, limit, full, inner: Mutex::default(), grown })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line of the agent's own.
    pub fn note(&self, line: &str) {
        self.append(format!("— {line}\n").as_bytes());
    }

    /// Adds what was printed. What cannot be kept is lost: nothing waits for a full disk.
    pub fn append(&self, bytes: &[u8]) {
        let mut inner = self.lock();
        inner.tail.extend(bytes);
        let over = inner.tail.len().saturating_sub(TAIL);
        inner.tail.drain(..over);
        if inner.is_cut {
            return;
        }
        let (mut epoch, mut length) = *self.grown.borrow();
        if length.saturating_add(bytes.len() as u64) > self.limit {
            match self.full {
                Full::Cut => {
                    inner.is_cut = true;
                    let words =
                        format!("\n— what comes later is left out: a log has at most {} MiB\n", self.limit >> 20);
                    length += self.write(&mut inner, words.as_bytes());
                    self.grown.send_replace((epoch, length));
                    return;
                }
                Full::Rotate => {
                    inner.file = None;
                    drop(std::fs::rename(&self.path, self.path.with_extension("log.1")));
                    (epoch, length) = (epoch + 1, 0);
                }
            }
        }
        length += self.write(&mut inner, bytes);
        self.grown.send_replace((epoch, length));
    }

    /// How much could be written.
    fn write(&self, inner: &mut Inner, bytes: &[u8]) -> u64 {
        let open = || File::options().create(true).append(true).mode(0o600).open(&self.path);
        let file = match inner.file.take().map_or_else(open, Ok) {
            Ok(file) => inner.file.insert(file),
            Err(_) => return 0,
        };
        let mut written = 0;
        while written < bytes.len() {
            match file.write(&bytes[written..]) {
                Ok(0) => break,
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        written as u64
    }

    /// The last lines, without those of the agent itself.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let inner = self.lock();
        let bytes: Vec<u8> = inner.tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.starts_with('—')).collect();
        let is_worth = |line: &&&str| !line.is_empty();
        let mut last: Vec<String> = lines.iter().rev().filter(is_worth).take(count).map(|line| short(line)).collect();
        last.reverse();
        last
    }

    /// Forgets what was printed before.
    pub fn turn_over(&self) {
        self.lock().tail.clear();
    }

    /// Sends the log from an offset on, and what is added to it, until the other side hangs up.
    pub async fn follow(self: Arc<Self>, offset: u64, wire: Wire) {
        let (mut read, mut write) = tokio::io::split(wire);
        let hung_up = async {
            let mut byte = [0];
            while matches!(read.read(&mut byte).await, Ok(1..)) {}
        };
        let send = async {
            let mut grown = self.grown.subscribe();
            let (mut epoch, length) = *grown.borrow_and_update();
            let mut at = offset.min(length);
            loop {
                let (now, length) = *grown.borrow_and_update();
                if now != epoch {
                    (epoch, at) = (now, 0);
                }
                while at < length {
                    let Ok(piece) = self.read(at, length) else { break };
                    if piece.is_empty() {
                        break;
                    }
                    write.write_all(&piece).await?;
                    at += piece.len() as u64;
                }
                write.flush().await?;
                if grown.changed().await.is_err() {
                    return io::Result::Ok(());
                }
            }
        };
        tokio::select! {
            () = hung_up => {}
            _ = send => {}
        }
    }

    fn read(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let file = File::open(&self.path)?;
        let mut piece = vec![0; usize::try_from(length - at).unwrap_or(PIECE).min(PIECE)];
        let count = file.read_at(&mut piece, at)?;
        piece.truncate(count);
        Ok(piece)
    }
}

/// Nobody reads a line of a thousand characters.
fn short(line: &str) -> String {
    let short: String = line.chars().take(300).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_cut_or_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("setup-1.log");
        let log = LogFile::new(path.clone(), 10, Full::Cut);
        log.append(b"12345\n");
        log.append(b"67890\n");
        log.append(b"never\n");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("12345\n\n— what comes later is left out"), "{text}");
        assert!(!text.contains("never"));
        assert_eq!(log.last_lines(2), ["67890", "never"]);
        let path = folder.path().join("app.log");
        let log = LogFile::new(path.clone(), 10, Full::Rotate);
        for line in ["12345\n", "67890\n", "abcde\n"] {
            log.append(line.as_bytes());
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abcde\n");
        assert_eq!(std::fs::read_to_string(folder.path().join("app.log.1")).unwrap(), "67890\n");
    }

    #[test]
    fn a_full_disk_loses_lines_and_hurts_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let log = LogFile::new(path, 1_000, Full::Rotate);
        log.note("begins");
        log.append(b"one\ntwo\n");
        assert_eq!(log.last_lines(5), ["one", "two"]);
        log.turn_over();
        assert_eq!(log.last_lines(5), [""; 0]);
    }
}
