//! What jobs print: one file for each part of each attempt, written as it comes in and read while it grows.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::world::AllocationKey;
use tokio::sync::watch;

/// Which file: one node's part of one attempt of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogName {
    pub job: JobId,
    /// Which attempt, from 1.
    pub attempt: u32,
    pub node: NodeId,
}

impl From<AllocationKey> for LogName {
    fn from(part: AllocationKey) -> Self {
        Self { job: part.job, attempt: part.attempt, node: part.node }
    }
}

/// A log that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogInfo {
    pub name: LogName,
    /// How long it is.
    pub length: u64,
    /// Whether more may come.
    pub is_open: bool,
}

/// What became of a piece of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How much there is now.
    pub length: u64,
    /// Whether the piece left a gap and was not taken.
    pub has_gap: bool,
}

#[derive(Debug)]
struct Open {
    file: Option<File>,
    length: u64,
    grown: watch::Sender<u64>,
}

/// All logs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct JobLogs {
    folder: Arc<PathBuf>,
    open: Arc<Mutex<HashMap<LogName, Open>>>,
}

impl JobLogs {
    /// Logs are kept in that folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Arc::new(folder.into()), open: Arc::default() }
    }

    /// The folder of a thousand jobs.
    pub(super) fn shelf(&self, job: JobId) -> PathBuf {
        self.folder.join((job.0 / 1_000).to_string())
    }

    /// Makes it, for us alone.
    pub(super) fn make_shelf(&self, job: JobId) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(self.shelf(job))
    }

    /// Where a log is, whether or not it exists.
    pub fn path(&self, name: LogName) -> PathBuf {
        self.shelf(name.job).join(format!("{}.{}.{}.log", name.job.0, name.attempt, name.node.0))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LogName, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part has begun: whoever follows it waits for more.
    pub fn begin(&self, name: LogName) {
        self.lock().entry(name).or_insert_with(|| {
            let length = length(&self.path(name));
            Open { file: None, length, grown: watch::Sender::new(length) }
        });
    }

    /// Keeps a piece of output: what is there already is left out, what would leave a gap is not taken.
    pub fn keep(&self, name: LogName, offset: u64, bytes: &[u8]) -> io::Result<Kept> {
        self.begin(name);
        let mut open = self.lock();
        let Some(log) = open.get_mut(&name) else { return Ok(Kept { length: 0, has_gap: true }) };
        if offset > log.length {
            return Ok(Kept { length: log.length, has_gap: true });
        }
        let known = usize::try_from(log.length - offset).unwrap_or(usize::MAX);
        let Some(fresh) = bytes.get(known..).filter(|fresh| !fresh.is_empty()) else {
            return Ok(Kept { length: log.length, has_gap: false });
        };
        if log.file.is_none() {
            let path = self.path(name);
            self.make_shelf(name.job)?;
            let mut options = File::options();
            log.file = Some(options.create(true).truncate(false).read(true).write(true).mode(0o600).open(&path)?);
        }
        if let Some(file) = &log.file {
            file.write_all_at(fresh, log.length)?;
        }
        log.length += fresh.len() as u64;
        log.grown.send_replace(log.length);
        Ok(Kept { length: log.length, has_gap: false })
    }

    /// A part is over: nothing more comes.
    pub fn end(&self, name: LogName) {
        self.lock().remove(&name);
    }

    /// A node is gone: nothing more comes of any part there.
    pub fn end_node(&self, node: NodeId) {
        self.lock().retain(|name, _| name.node != node);
    }

    /// Whether more may come of a job.
    pub(super) fn is_open(&self, job: JobId) -> bool {
        self.lock().keys().any(|name| name.job == job)
    }

    /// How much of it is kept.
    pub fn length(&self, name: LogName) -> u64 {
        let known = self.lock().get(&name).map(|log| log.length);
        known.unwrap_or_else(|| length(&self.path(name)))
    }

    /// Reads at most `most` bytes from there on; fewer only at the end of what there is.
    pub fn read(&self, name: LogName, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        let file = match File::open(self.path(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let left = length_of(&file).saturating_sub(offset);
        let mut bytes = vec![0; most.min(usize::try_from(left).unwrap_or(usize::MAX))];
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Hears of every growth until the part is over; none if it is over already (or has not begun).
    pub fn follow(&self, name: LogName) -> Option<watch::Receiver<u64>> {
        self.lock().get(&name).map(|log| log.grown.subscribe())
    }

    /// All logs of a job, in the order of attempts and nodes.
    pub fn list(&self, job: JobId) -> Vec<LogInfo> {
        let mut found: std::collections::BTreeMap<LogName, LogInfo> = std::collections::BTreeMap::new();
        let prefix = format!("{}.", job.0);
        // A shelf holds a thousand jobs; a folder that cannot be read has no logs.
        for entry in std::fs::read_dir(self.shelf(job)).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let Some(rest) = file.to_str().and_then(|file| file.strip_prefix(&prefix)) else { continue };
            let mut numbers = rest.trim_end_matches(".log").split('.');
            let (Some(Ok(attempt)), Some(Ok(node))) =
                (numbers.next().map(str::parse::<u32>), numbers.next().map(str::parse::<u64>))
            else {
                continue;
            };
            let name = LogName { job, attempt, node: NodeId(node) };
            let length = entry.metadata().map_or(0, |info| info.len());
            found.insert(name, LogInfo { name, length, is_open: false });
        }
        for (name, log) in self.lock().iter().filter(|(name, _)| name.job == job) {
            found.insert(*name, LogInfo { name: *name, length: log.length, is_open: true });
        }
        found.into_values().collect()
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |info| info.len())
}

fn length_of(file: &File) -> u64 {
    file.metadata().map_or(0, |info| info.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: LogName = LogName { job: JobId(4_007), attempt: 2, node: NodeId(9) };

    #[test]
    fn pieces_count_once_whatever_comes_twice_or_too_early() {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = JobLogs::new(folder.path());
        let keep = |offset, bytes: &[u8]| logs.keep(NAME, offset, bytes).expect("keeps");
        assert_eq!(keep(0, b"one "), Kept { length: 4, has_gap: false });
        assert_eq!(keep(0, b"one "), Kept { length: 4, has_gap: false });
        assert_eq!(keep(9, b"four"), Kept { length: 4, has_gap: true });
        assert_eq!(keep(2, b"e two"), Kept { length: 7, has_gap: false });
        logs.end(NAME);
        assert!(logs.follow(NAME).is_none());
        // After a restart nothing is remembered but the file.
        let logs = JobLogs::new(folder.path());
        assert_eq!(logs.keep(NAME, 4, b"two three").expect("keeps"), Kept { length: 13, has_gap: false });
        assert_eq!(logs.read(NAME, 0, 100).expect("reads"), b"one two three");
        assert_eq!(logs.read(NAME, 4, 3).expect("reads"), b"two");
        assert_eq!(logs.read(NAME, 99, 3).expect("reads"), b"");
        let found = logs.list(NAME.job);
        assert_eq!(found, [LogInfo { name: NAME, length: 13, is_open: true }]);
        assert_eq!(logs.list(JobId(400)), []);
    }
}
