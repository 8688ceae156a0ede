//! Content on its way: written beside, made durable, and put in its place in one step.

use std::fs::File;
use std::io::Write as _;
use std::sync::PoisonError;

use atelier_domain::files::FilePath;
use rustix::fd::OwnedFd;
use rustix::fs::{
    Access, AtFlags, Mode, OFlags, RenameFlags, accessat, fchmod, fstat, fsync, openat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::area::{Area, INCOMING, Who};
use crate::entry::{Entry, Kind};
use crate::error::{Error, Result, of_writing};

/// What is expected where content is to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Whatever is there is replaced.
    #[default]
    Anything,
    Nothing,
    /// The version that somebody looked at.
    Version(String),
}

/// Content on its way. What is dropped before its last step was never there.
#[derive(Debug)]
pub struct Staged {
    /// Where it is written.
    file: Option<File>,
    folder: OwnedFd,
    pub(crate) name: String,
    who: Who,
    is_kept: bool,
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed is collected after a day.
            let _ = Area::acting(&self.who, || Ok(unlinkat(&self.folder, &self.name, AtFlags::empty())?));
        }
    }
}

impl Staged {
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(bytes).map_err(of_writing),
            None => Err(Error::NotFound),
        }
    }

    pub(crate) fn reopened(file: File, folder: OwnedFd, name: String, who: Who) -> Self {
        Self { file: Some(file), folder, name, who, is_kept: true }
    }
}

impl Area {
    /// Begins content of that person.
    pub fn stage(&self, who: &Who) -> Result<Staged> {
        Self::acting(who, || {
            let folder = self.staging(INCOMING, who)?;
            let name = format!("{:032x}.new", rand::random::<u128>());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&folder, &name, flags, Mode::from_raw_mode(0o600))
                .map_err(|error| self.with_room(error.into()))?;
            Ok(Staged { file: Some(File::from(file)), folder, name, who: who.clone(), is_kept: false })
        })
    }

    /// Whether that person could put something there, as far as that can be told before: nobody sends two
    /// gigabytes for nothing.
    pub fn could_place(&self, who: &Who, path: &FilePath, expect: &Expect) -> Result<()> {
        Self::acting(who, || {
            let parent = path.parent().ok_or(Error::IsAFolder)?;
            let folder = self.folder(&parent)?;
            accessat(&folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?;
            check(&folder, path, expect)?;
            Ok(())
        })
    }

    /// Makes content durable and puts it in its place in one step.
    pub fn place(&self, mut staged: Staged, path: &FilePath, expect: &Expect) -> Result<Entry> {
        let file = staged.file.take().ok_or(Error::NotFound)?;
        file.sync_all().map_err(|error| self.with_room(of_writing(error)))?;
        let who = staged.who.clone();
        let placed = Self::acting(&who, || {
            let parent = path.parent().ok_or(Error::IsAFolder)?;
            let folder = self.folder(&parent)?;
            let one_at_a_time = self.last_step.lock().unwrap_or_else(PoisonError::into_inner);
            let there = check(&folder, path, expect)?;
            let mode = match &there {
                Some(entry) => entry.mode & 0o777,
                None => new_mode(path, &folder)? & 0o666,
            };
            fchmod(&file, Mode::from_raw_mode(mode))?;
            if there.is_some() || *expect == Expect::Anything {
                renameat(&staged.folder, &staged.name, &folder, path.name())?;
            } else {
                let flags = RenameFlags::NOREPLACE;
                match renameat_with(&staged.folder, &staged.name, &folder, path.name(), flags) {
                    // Told apart from a name that was taken before, and said in the same words.
                    Err(Errno::EXIST) => return Err(Error::Exists),
                    other => other?,
                }
            }
            // From here on everybody sees the new file, and nobody has to wait for the disk with us.
            drop(one_at_a_time);
            sync(&folder);
            Ok(Entry::of(path.name().to_owned(), &fstat(&file)?))
        });
        staged.is_kept = placed.is_ok() || staged.is_kept;
        placed.map_err(|error| self.with_room(error))
    }
}

/// What is there, if that is as expected.
fn check(folder: &OwnedFd, path: &FilePath, expect: &Expect) -> Result<Option<Entry>> {
    let there = match statat(folder, path.name(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Some(Entry::of(path.name().to_owned(), &found)),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    match (&there, expect) {
        (Some(_), Expect::Nothing) => Err(Error::Exists),
        (Some(entry), _) if entry.kind == Kind::Folder => Err(Error::IsAFolder),
        (Some(entry), _) if entry.kind != Kind::File => Err(Error::Link),
        (Some(entry), Expect::Version(wanted)) if entry.version != *wanted => {
            Err(Error::Changed { now: Some(entry.version.clone()) })
        }
        (None, Expect::Version(_)) => Err(Error::Changed { now: None }),
        (Some(entry), _) => check_owner(folder, entry).map(|()| there),
        (None, _) => Ok(there),
    }
}

/// Whether a file may be replaced by who acts. Replacing needs rights in the folder alone, and the new file
/// belongs to who wrote it: without this, whoever may write to a shared folder could take over what others do
/// not let them change.
fn check_owner(folder: &OwnedFd, entry: &Entry) -> Result<()> {
    if entry.owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let how = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    Ok(accessat(folder, entry.name.as_str(), Access::WRITE_OK, how)?)
}

/// How open something new is: in somebody's own folder that folder is the door, elsewhere as open as the
/// folder that it is in.
pub fn new_mode(path: &FilePath, folder: &OwnedFd) -> Result<u32> {
    if path.person().is_some() { Ok(0o755) } else { Ok(fstat(folder)?.st_mode & 0o777) }
}

/// Makes names in a folder durable, where it may be read.
pub fn sync(folder: &OwnedFd) {
    if let Ok(folder) = openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = fsync(&folder);
    }
}
