//! The high-water marks of an installation, in a file of the data directory.
//!
//! A block of ids is reserved durably (written beside, synced, renamed, the folder synced) before the first
//! of them is used, and usually long before: [`MarksFile::keep`] reserves the next one when half of a block
//! is used up, so commits don't wait for it. What the database has given out is noted within a second and
//! when the server stops.

use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atelier_domain::marks::{KeptMarks, Marks};
use tokio::sync::Notify;

/// The file in the data directory.
pub const FILE: &str = "installation.json";
/// Notes are written at most this often.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// The file of a running server.
#[derive(Debug)]
pub struct MarksFile {
    folder: PathBuf,
    state: Mutex<State>,
    /// Held while the file is written, so that an older state never replaces a newer one.
    writing: Mutex<()>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// What is on disk for sure.
    durable: KeptMarks,
    /// What the database has given out by now.
    seen: Marks,
}

impl MarksFile {
    /// What a data directory remembers; nothing if it's new or of an older version.
    ///
    /// # Errors
    /// In words: a file that can't be read must not be taken for none.
    pub fn read(data: &Path) -> Result<Option<KeptMarks>, String> {
        let path = data.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            format!(
                "{} is damaged: {error}. It says which ids were given out; restore it from a backup of the data \
                 directory",
                path.display()
            )
        })
    }

    /// Takes over a data directory with these marks, which are written at once.
    ///
    /// # Errors
    /// What the system says.
    pub fn take_over(data: &Path, kept: KeptMarks) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(data)?;
        let reserved = kept.seen.block_ahead(&kept.reserved).unwrap_or(kept.reserved);
        let kept = KeptMarks { reserved, ..kept };
        write(data, &kept)?;
        let state = Mutex::new(State { seen: kept.seen, durable: kept });
        Ok(Self { folder: data.to_owned(), state, writing: Mutex::default(), changed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is on disk.
    pub fn durable(&self) -> KeptMarks {
        self.state().durable.clone()
    }

    /// Makes sure that these may be used: waits for the disk only if they're beyond what is reserved.
    ///
    /// # Errors
    /// What the system says; then none of them may be used.
    pub async fn reserve(self: &Arc<Self>, used: &Marks) -> io::Result<()> {
        if used.next_block(&self.state().durable.reserved).is_none() {
            return Ok(());
        }
        let (it, used) = (Arc::clone(self), *used);
        tokio::task::spawn_blocking(move || it.write(&used)).await.map_err(io::Error::other)?
    }

    /// Notes what the database has given out, after its commit.
    pub fn saw(&self, used: &Marks) {
        let mut state = self.state();
        if !used.is_within(&state.seen) {
            state.seen = state.seen.max(used);
            self.changed.notify_one();
        }
    }

    /// Writes notes and reserves ahead, again and again.
    pub async fn keep(self: Arc<Self>) {
        loop {
            self.changed.notified().await;
            let it = Arc::clone(&self);
            let written = tokio::task::spawn_blocking(move || it.flush()).await.map_err(io::Error::other);
            if let Err(error) = written.and_then(|written| written) {
                tracing::warn!(%error, "how far ids were counted could not be noted; it is tried again");
                self.changed.notify_one();
            }
            tokio::time::sleep(NOTE_EVERY).await;
        }
    }

    /// Writes what was noted.
    ///
    /// # Errors
    /// What the system says.
    pub fn flush(&self) -> io::Result<()> {
        self.write(&Marks::default())
    }

    fn write(&self, used: &Marks) -> io::Result<()> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut next, seen) = {
            let state = self.state();
            (state.durable.clone(), state.seen)
        };
        let before = next.clone();
        next.seen = next.seen.max(&seen);
        next.reserved = used.max(&seen).block_ahead(&next.reserved).unwrap_or(next.reserved);
        if next != before {
            write(&self.folder, &next)?;
            self.state().durable = next;
        }
        Ok(())
    }
}

/// All of it or nothing, also after a power cut.
fn write(folder: &Path, kept: &KeptMarks) -> io::Result<()> {
    let draft = folder.join(format!("{FILE}.draft"));
    let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(serde_json::to_string_pretty(kept).map_err(io::Error::other)?.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&draft, folder.join(FILE))?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(jobs: u64) -> Marks {
        Marks { jobs, ..Marks::default() }
    }

    #[tokio::test]
    async fn a_block_is_on_disk_before_its_first_number_is_used() {
        let data = tempfile::tempdir().expect("a folder");
        assert_eq!(MarksFile::read(data.path()), Ok(None));
        let kept = KeptMarks { installation: "inst-a".into(), ..KeptMarks::default() };
        let marks = Arc::new(MarksFile::take_over(data.path(), kept).expect("written"));
        let on_disk = || MarksFile::read(data.path()).expect("read").expect("is there");
        assert_eq!(on_disk().reserved.jobs, 1_024);
        for last in [1, 700, 1_024, 1_025, 50_000] {
            marks.reserve(&jobs(last)).await.expect("reserved");
            assert!(on_disk().reserved.jobs >= last, "{last}");
        }
        // As a killed server leaves it: reserved, and nothing was given out.
        assert_eq!(on_disk().seen, Marks::default());
        marks.saw(&jobs(50_000));
        marks.flush().expect("written");
        assert_eq!((on_disk().seen.jobs, on_disk().installation.as_str()), (50_000, "inst-a"));
    }

    #[tokio::test]
    async fn what_cannot_be_reserved_may_not_be_used() {
        let data = tempfile::tempdir().expect("a folder");
        let place = data.path().join("gone");
        let marks = Arc::new(MarksFile::take_over(&place, KeptMarks::default()).expect("written"));
        std::fs::remove_dir_all(&place).expect("removed");
        marks.reserve(&jobs(1_024)).await.expect("within the block");
        assert!(marks.reserve(&jobs(1_025)).await.is_err());
        assert_eq!(marks.durable().reserved.jobs, 1_024);
    }

    #[test]
    fn a_damaged_file_is_not_taken_for_none() {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::write(data.path().join(FILE), "{").expect("written");
        assert!(MarksFile::read(data.path()).is_err_and(|why| why.contains("damaged")));
    }
}
