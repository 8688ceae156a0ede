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
    file: Option<Arc<File>>,
    length: u64,
    /// So much of it survives a power cut.
    synced: u64,
    grown: watch::Sender<u64>,
}

/// Makes files durable; in tests it may fail.
#[derive(Clone, Default)]
struct Durable(Option<Arc<dyn Fn() -> io::Result<()> + Send + Sync>>);

impl std::fmt::Debug for Durable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Durable")
    }
}

impl Durable {
    fn sync(&self, file: &File) -> io::Result<()> {
        if let Some(fault) = &self.0 {
            fault()?;
        }
        file.sync_data()
    }
}

/// All logs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct JobLogs {
    folder: Arc<PathBuf>,
    open: Arc<Mutex<HashMap<LogName, Open>>>,
    disk: Durable,
}

impl JobLogs {
    /// Logs are kept in that folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Arc::new(folder.into()), open: Arc::default(), disk: Durable::default() }
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
            Open { file: None, length, synced: 0, grown: watch::Sender::new(length) }
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
            let file = options.create(true).truncate(false).read(true).write(true).mode(0o600).open(&path)?;
            log.file = Some(Arc::new(file));
        }
        if let Some(file) = &log.file {
            file.write_all_at(fresh, log.length)?;
        }
        log.length += fresh.len() as u64;
        log.grown.send_replace(log.length);
        Ok(Kept { length: log.length, has_gap: false })
    }

    /// Makes what is kept of a log durable, with its name, and says how much that is. Only then may an agent
    /// hear that it is kept, and only then is its part over.
    pub fn sync(&self, name: LogName) -> io::Result<u64> {
        let (file, length, synced) = match self.lock().get(&name) {
            Some(Open { file: Some(file), length, synced, .. }) => (Arc::clone(file), *length, *synced),
            // Nothing was written since the server began.
            Some(log) => return Ok(log.length),
            // What is over is durable.
            None => return Ok(length(&self.path(name))),
        };
        if synced == length {
            return Ok(length);
        }
        self.disk.sync(&file)?;
        if synced == 0 {
            // Its name, and that of the folder: each is in the one above.
            for folder in [self.shelf(name.job), self.folder.as_path().to_owned()] {
                self.disk.sync(&File::open(folder)?)?;
            }
        }
        if let Some(log) = self.lock().get_mut(&name) {
            log.synced = log.synced.max(length);
        }
        Ok(length)
    }

    /// Does that for several, a few at a time: the file system makes them durable together.
    pub async fn sync_all(&self, names: &[LogName]) -> io::Result<()> {
        const AT_ONCE: usize = 8;
        let is_written = |name: &&LogName| self.lock().get(name).is_some_and(|log| log.file.is_some());
        let written: Vec<LogName> = names.iter().filter(is_written).copied().collect();
        let lots: Vec<Vec<LogName>> = (0..AT_ONCE.min(written.len()))
            .map(|lot| written.iter().skip(lot).step_by(AT_ONCE).copied().collect())
            .collect();
        let mut working = Vec::with_capacity(lots.len());
        for lot in lots {
            let logs = self.clone();
            working
                .push(tokio::task::spawn_blocking(move || lot.iter().try_for_each(|name| logs.sync(*name).map(drop))));
        }
        for lot in working {
            lot.await.map_err(io::Error::other)??;
        }
        Ok(())
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
    fn what_is_said_to_be_kept_is_durable_with_its_name() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let folder = tempfile::tempdir().expect("a folder");
        let synced = Arc::new(AtomicU32::new(0));
        let mut logs = JobLogs::new(folder.path());
        let counting = Arc::clone(&synced);
        logs.disk = Durable(Some(Arc::new(move || {
            counting.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })));
        logs.begin(NAME);
        assert_eq!(logs.sync(NAME).expect("nothing to do"), 0);
        logs.keep(NAME, 0, b"one ").expect("kept");
        assert_eq!(logs.sync(NAME).expect("synced"), 4);
        assert_eq!(synced.load(Ordering::Relaxed), 3, "the file, its folder, and the folder above");
        logs.sync(NAME).expect("synced before");
        logs.keep(NAME, 4, b"two").expect("kept");
        assert_eq!(logs.sync(NAME).expect("synced"), 7);
        assert_eq!(synced.load(Ordering::Relaxed), 4, "what is durable is not made so again");
        logs.disk = Durable(Some(Arc::new(|| Err(io::ErrorKind::StorageFull.into()))));
        logs.keep(NAME, 7, b"!").expect("kept");
        assert!(logs.sync(NAME).is_err(), "nobody is told that this is kept");
    }

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
