//! Uploaded files, by the hash of their content. Who is about to name one in a job or an instance claims it
//! first, and that keeps it for a day; what nobody has named by then is removed.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use atelier_domain::Timestamp;

use super::Folders;

/// The hash of a file's content.
pub(crate) type Hash = [u8; 32];

/// All uploaded files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Blobs {
    folders: Folders,
    /// Held from looking at a file until it is touched, replaced or removed.
    turn: Arc<Mutex<()>>,
}

impl Blobs {
    pub(super) fn new(folders: Folders) -> Self {
        Self { folders, turn: Arc::default() }
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a file in that is on the same disk. The same content is there already, or is replaced by itself.
    ///
    /// # Errors
    /// What the system says.
    pub fn take_in(&self, from: &Path, hash: &str) -> io::Result<()> {
        let path = self.folders.blob(hash).ok_or(io::ErrorKind::InvalidInput)?;
        let shelf = path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(shelf)?;
        let _turn = self.turn();
        fs::rename(from, &path)?;
        // A job that names it must find it, also after a power cut.
        File::open(shelf)?.sync_all()
    }

    /// Somebody is about to name it: it stays for another day, whoever else names it. Its length; nothing if
    /// it is not there.
    pub fn claim(&self, hash: &str, now: Timestamp) -> Option<u64> {
        let path = self.folders.blob(hash)?;
        let _turn = self.turn();
        let file = File::options().write(true).open(path).ok()?;
        if let Err(error) = file.set_modified(system(now)) {
            tracing::warn!(%error, hash, "an uploaded file could not be marked as wanted");
        }
        Some(file.metadata().ok()?.len())
    }

    /// Removes what nobody names and nobody has claimed since then. Says how many files that were, and their
    /// bytes.
    pub(super) fn sweep(&self, is_named: impl Fn(&Hash) -> bool, since: Timestamp) -> io::Result<(u64, u64)> {
        let mut removed = (0, 0);
        for shelf in entries(&self.folders.blobs())? {
            // Such as `ab`; others are not ours, or hold what is coming in.
            if shelf.file_name().len() != 2 || !shelf.file_type()?.is_dir() {
                continue;
            }
            for entry in entries(&shelf.path())? {
                let name = entry.file_name();
                let Some(hash) = name.to_str().and_then(parse) else { continue };
                if !is_named(&hash)
                    && let Some(bytes) = self.remove_unless_claimed(&entry.path(), system(since))?
                {
                    removed = (removed.0 + 1, removed.1 + bytes);
                }
            }
        }
        Ok(removed)
    }

    fn remove_unless_claimed(&self, path: &Path, since: SystemTime) -> io::Result<Option<u64>> {
        let _turn = self.turn();
        let info = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            info => info?,
        };
        if info.modified()? >= since {
            return Ok(None);
        }
        fs::remove_file(path)?;
        Ok(Some(info.len()))
    }
}

fn system(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or_default())
}

/// What is in a folder; nothing if it is not there.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Reads the name of a file.
pub(crate) fn parse(name: &str) -> Option<Hash> {
    let digits = name.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_names_and_nobody_claimed_is_removed() {
        let data = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::new(Folders::new(data.path()));
        let name = |letter: &str| letter.repeat(64);
        let (long_ago, since) = (Timestamp(1_000_000_000), Timestamp(1_086_400_000));
        for letter in ["a", "b", "c", "d"] {
            let from = data.path().join("coming");
            fs::write(&from, letter).expect("written");
            blobs.take_in(&from, &name(letter)).expect("taken in");
            assert_eq!(blobs.claim(&name(letter), long_ago), Some(1));
        }
        assert_eq!((blobs.claim(&name("e"), since), blobs.claim("../../x", since)), (None, None));
        assert_eq!(blobs.claim(&name("b"), since), Some(1));
        // Things that are not ours stay.
        fs::create_dir_all(data.path().join("blobs/incoming")).expect("made");
        fs::write(data.path().join("blobs/incoming/x"), "x").expect("written");
        fs::write(data.path().join("blobs/aa/notes"), "x").expect("written");
        let is_named = |hash: &Hash| Some(*hash) == parse(&name("c"));
        assert_eq!(blobs.sweep(is_named, since).expect("sweeps"), (2, 2));
        assert_eq!(blobs.sweep(is_named, since).expect("sweeps again"), (0, 0));
        let there: Vec<bool> =
            ["a", "b", "c", "d"].iter().map(|letter| blobs.claim(&name(letter), since).is_some()).collect();
        assert_eq!(there, [false, true, true, false]);
        assert!(data.path().join("blobs/incoming/x").exists() && data.path().join("blobs/aa/notes").exists());
    }

    #[test]
    fn names_are_hashes_and_nothing_else() {
        assert_eq!(parse(&"0f".repeat(32)), Some([15; 32]));
        for bad in ["", "0f", &"0F".repeat(32), &"0g".repeat(32), &"é".repeat(32)] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
