//! The folder of all environments: which are complete, who builds, what goes.
//!
//! An environment is built where it will stay, since its scripts name that place. It counts once the mark in
//! it is written, last of all; what has none is removed by whoever builds next. Several servers may share the
//! folder: one lock for all of it lets one of them build at a time.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::base_status::Built;
use super::failure::Failure;
use super::recipe::Kind;

/// Written last. What holds it is complete.
pub(super) const MARK: &str = ".complete";

#[derive(Clone, Debug)]
pub(super) struct Shelf {
    folder: PathBuf,
}

/// Held by who builds, and by every process that was started for it: also what outlives a killed server holds
/// it.
#[derive(Debug)]
pub(super) struct Lock(pub File);

impl Shelf {
    pub fn new(folder: &Path) -> Self {
        Self { folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn place(&self, hash: &str) -> PathBuf {
        self.folder.join(hash)
    }

    /// What was printed at the last try.
    pub fn log(&self, hash: &str) -> PathBuf {
        self.folder.join(format!("{hash}.log"))
    }

    /// What pip has downloaded.
    pub fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// Makes the folder, for everybody to pass through: people read what is in it.
    pub fn make(&self) -> Result<(), Failure> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let made = DirBuilder::new().recursive(true).mode(0o755).create(&self.folder);
        made.and_then(|()| fs::set_permissions(&self.folder, Permissions::from_mode(0o755)))
            .map_err(|error| Failure::file("made", &self.folder, &error))
    }

    /// The environment of that name, if it is complete.
    pub fn look(&self, hash: &str) -> Option<Built> {
        let path = self.place(hash);
        let built: Built = serde_json::from_slice(&fs::read(path.join(MARK)).ok()?).ok()?;
        // The Python below it may have gone.
        (built.hash == hash && path.join("bin/python").exists()).then_some(Built { path, ..built })
    }

    /// Takes the lock, if nobody has it.
    pub fn try_lock(&self) -> Result<Option<Lock>, Failure> {
        let path = self.folder.join(".lock");
        let cannot = |error: io::Error| Failure::file("opened", &path, &error);
        // For us alone: whoever can read a file can hold its lock.
        drop(File::options().create(true).append(true).mode(0o600).open(&path).map_err(cannot)?);
        // Read only: it is handed on.
        let file = File::open(&path).map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(cannot(error)),
        }
    }

    /// Removes what somebody began and did not finish.
    pub fn sweep(&self, _lock: &Lock) -> Result<(), Failure> {
        for hash in self.hashes() {
            let place = self.place(&hash);
            if !place.join(MARK).exists() {
                tracing::info!(path = %place.display(), "an environment that was never finished is removed");
                remove(&place).map_err(|error| Failure::file("removed", &place, &error))?;
            }
        }
        Ok(())
    }

    /// Removes what is complete and not wanted by anybody. Gives what went.
    pub fn collect(&self, _lock: &Lock, keep: &BTreeSet<PathBuf>) -> io::Result<Vec<PathBuf>> {
        let mut gone = Vec::new();
        for hash in self.hashes() {
            let place = self.place(&hash);
            // What people have named goes by other rules.
            let is_named = || self.look(&hash).is_some_and(|built| built.kind == Kind::Named);
            if keep.contains(&place) || is_named() {
                continue;
            }
            self.remove(&hash)?;
            gone.push(place);
        }
        Ok(gone)
    }

    /// Removes one with its log, for who holds the lock.
    pub fn remove(&self, hash: &str) -> io::Result<()> {
        remove(&self.place(hash))?;
        let _ = fs::remove_file(self.log(hash));
        Ok(())
    }

    /// Says that an environment is complete. All of it is on the disk before the mark is.
    pub fn mark(&self, built: &Built) -> io::Result<()> {
        let place = self.place(&built.hash);
        let folder = File::open(&place)?;
        rustix::fs::syncfs(&folder)?;
        let draft = place.join(".draft");
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec(built)?)?;
        file.set_permissions(Permissions::from_mode(0o444))?;
        file.sync_all()?;
        fs::rename(&draft, place.join(MARK))?;
        folder.sync_all()?;
        folder.set_permissions(Permissions::from_mode(0o555))?;
        File::open(&self.folder)?.sync_all()
    }

    /// The names of all environments, complete or not.
    fn hashes(&self) -> Vec<String> {
        let is_hash = |name: &String| name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_hash).collect()
    }
}

/// Removes an environment, the mark first: half of one is none. Its folders cannot be written until they are
/// opened.
pub(super) fn remove(place: &Path) -> io::Result<()> {
    if !place.exists() {
        return Ok(());
    }
    fs::set_permissions(place, Permissions::from_mode(0o700))?;
    match fs::remove_file(place.join(MARK)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    open_up(place)?;
    fs::remove_dir_all(place)
}

fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use atelier_domain::Timestamp;

    use super::*;
    use crate::environments::recipe::Python;

    fn shelf() -> (tempfile::TempDir, Shelf) {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::new(&folder.path().join("environments"));
        shelf.make().expect("made");
        (folder, shelf)
    }

    fn put(shelf: &Shelf, letter: &str) -> Built {
        let hash = letter.repeat(20);
        let place = shelf.place(&hash);
        fs::create_dir_all(place.join("bin/deep")).expect("made");
        fs::write(place.join("bin/python"), "").expect("written");
        for closed in ["bin/deep", "bin"] {
            fs::set_permissions(place.join(closed), Permissions::from_mode(0o555)).expect("closed");
        }
        let python = Python {
            program: "/usr/bin/python3".into(),
            name: "cpython".into(),
            version: "3.11.2".into(),
            platform: "linux".into(),
        };
        let packages = vec![("six".into(), "1.17.0".into())];
        Built {
            hash,
            path: place,
            packages,
            python,
            built_in_ms: 1,
            built_at: Timestamp(2),
            size: 3,
            kind: Kind::Base,
            has_kernel: false,
        }
    }

    #[test]
    fn only_what_is_marked_is_there() {
        let (_folder, shelf) = shelf();
        let built = put(&shelf, "a");
        assert_eq!(shelf.look(&built.hash), None);
        shelf.mark(&built).expect("marked");
        assert_eq!(shelf.look(&built.hash), Some(built.clone()));
        put(&shelf, "b");
        let lock = shelf.try_lock().expect("looks").expect("is free");
        assert!(shelf.try_lock().expect("looks").is_none(), "one at a time");
        shelf.sweep(&lock).expect("swept");
        assert!(shelf.look(&built.hash).is_some() && !shelf.place(&"b".repeat(20)).exists());
        drop(lock);
        assert!(shelf.try_lock().expect("looks").is_some());
    }

    #[test]
    fn what_nobody_wants_goes_with_its_log() {
        let (_folder, shelf) = shelf();
        let (kept, gone) = (put(&shelf, "a"), put(&shelf, "b"));
        for built in [&kept, &gone] {
            shelf.mark(built).expect("marked");
            fs::write(shelf.log(&built.hash), "lines").expect("written");
        }
        let other = shelf.folder().join("something of somebody");
        fs::write(&other, "").expect("written");
        let lock = shelf.try_lock().expect("looks").expect("is free");
        let went = shelf.collect(&lock, &BTreeSet::from([kept.path.clone()])).expect("collected");
        assert_eq!(went, std::slice::from_ref(&gone.path));
        assert!(!gone.path.exists() && !shelf.log(&gone.hash).exists());
        assert!(shelf.look(&kept.hash).is_some() && shelf.log(&kept.hash).exists() && other.exists());
    }
}
