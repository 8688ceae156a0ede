//! The folder that everything lies in.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use atelier_domain::files::{FilePath, STAGING, USERS};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, fchmod, fchown, fstat, fstatvfs, mkdirat, openat, openat2, renameat,
    statat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::entry::{Entry, Kind};
use crate::error::{Error, Result};
use crate::identity::as_user;

/// Under [`STAGING`]: content on its way.
pub const INCOMING: &str = "uploads";
/// Under [`STAGING`]: what was deleted.
pub const TRASH: &str = "trash";

/// Who does something: a person by their short name, and their user where people have users of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    /// The short name, which is the name of their folder.
    pub handle: String,
    pub uid: Option<u32>,
}

/// The files of a workspace.
#[derive(Debug)]
pub struct Area {
    pub(crate) root: OwnedFd,
    path: PathBuf,
    /// The last step of two changes of the same file must not overlap: the second is to see the first.
    pub(crate) last_step: Mutex<()>,
}

impl Area {
    /// In that folder, which is made if it is missing: everybody may add something at its top, and nobody may
    /// remove what is another's there.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            std::fs::create_dir_all(path)?;
            let root = openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())?;
            fchmod(&root, Mode::from_raw_mode(0o1777))?;
        }
        let root = openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())?;
        let area = Self { root, path: path.to_owned(), last_step: Mutex::default() };
        // Before anybody else can make something of these names.
        for (name, mode) in [(USERS, 0o755), (STAGING, 0o711)] {
            step_aside(&area.root, name)?;
            make(&area.root, name, mode, None)?;
        }
        let staging = area.beneath(&area.root, STAGING, FOLDER)?;
        for name in [INCOMING, TRASH] {
            make(&staging, name, 0o711, None)?;
        }
        Ok(area)
    }

    /// Where the area is on the machine.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a person's own folders, which are closed to everybody else unless they open them.
    pub fn welcome(&self, who: &Who) -> Result<()> {
        let users = self.beneath(&self.root, USERS, FOLDER)?;
        make(&users, &who.handle, 0o700, who.uid)?;
        for kind in [INCOMING, TRASH] {
            let folder = self.beneath(&self.root, &format!("{STAGING}/{kind}"), FOLDER)?;
            make(&folder, &who.handle, 0o700, who.uid)?;
        }
        Ok(())
    }

    /// Does something as that person.
    pub(crate) fn acting<T>(who: &Who, work: impl FnOnce() -> Result<T>) -> Result<T> {
        as_user(who.uid, work)
    }

    /// What is known of a file or folder.
    pub fn look(&self, who: &Who, path: &FilePath) -> Result<Entry> {
        Self::acting(who, || self.entry(path))
    }

    pub(crate) fn entry(&self, path: &FilePath) -> Result<Entry> {
        let found = match path.parent() {
            None => fstat(&self.root)?,
            Some(parent) => {
                let folder = self.folder(&parent)?;
                statat(&folder, path.name(), AtFlags::SYMLINK_NOFOLLOW)?
            }
        };
        Ok(Entry::of(path.name().to_owned(), &found))
    }

    /// Opens a file to be read.
    pub fn read(&self, who: &Who, path: &FilePath) -> Result<(File, Entry)> {
        Self::acting(who, || {
            // Not waiting: a pipe of that name would hold the thread for ever.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let file = match path.is_top() {
                true => return Err(Error::IsAFolder),
                false => self.beneath(&self.root, path.as_str(), flags)?,
            };
            let entry = Entry::of(path.name().to_owned(), &fstat(&file)?);
            match entry.kind {
                Kind::File => Ok((File::from(file), entry)),
                Kind::Folder => Err(Error::IsAFolder),
                Kind::Link | Kind::Other => Err(Error::Link),
            }
        })
    }

    /// How many bytes are free and how many there are.
    pub fn room(&self) -> Result<(u64, u64)> {
        let found = fstatvfs(&self.root)?;
        Ok((found.f_bavail.saturating_mul(found.f_frsize), found.f_blocks.saturating_mul(found.f_frsize)))
    }

    /// With how many bytes are free, where a disk said that there is no room.
    pub(crate) fn with_room(&self, error: Error) -> Error {
        match error {
            Error::Full { .. } => Error::Full { free: self.room().map_or(0, |(free, _)| free) },
            other => other,
        }
    }

    /// A folder, as a place to start from.
    pub(crate) fn folder(&self, path: &FilePath) -> Result<OwnedFd> {
        let path = if path.is_top() { "." } else { path.as_str() };
        self.beneath(&self.root, path, FOLDER)
    }

    /// Somebody's own folder under [`STAGING`].
    pub(crate) fn staging(&self, kind: &str, who: &Who) -> Result<OwnedFd> {
        self.beneath(&self.root, &format!("{STAGING}/{kind}/{}", who.handle), FOLDER)
    }

    /// Opens something beneath a folder. No link is followed, wherever it stands, and nothing leads out.
    pub(crate) fn beneath(&self, folder: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            match openat2(&folder, path, flags | OFlags::CLOEXEC, Mode::empty(), how) {
                // Something was moved while the kernel looked: it asks to be asked again.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::XDEV) => return Err(Error::Link),
                other => return Ok(other?),
            }
        }
    }
}

/// A folder as a place to start from; needs no right to read it.
pub const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Moves what somebody else has put under a name of ours out of the way: whoever owns a folder decides what
/// is in it.
fn step_aside(root: &OwnedFd, name: &str) -> Result<()> {
    let Ok(found) = statat(root, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
    let entry = Entry::of(name.to_owned(), &found);
    if entry.kind == Kind::Folder && entry.owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let aside = format!("{} (of user {}, {:08x})", name.trim_start_matches('.'), entry.owner, rand::random::<u32>());
    Ok(renameat(root, name, root, aside)?)
}

/// Makes a folder if it is missing, and gives it to somebody. What is above it is ours, so nobody can put a
/// link in the way.
fn make(above: &OwnedFd, name: &str, mode: u32, uid: Option<u32>) -> Result<()> {
    let is_new = match mkdirat(above, name, Mode::from_raw_mode(mode)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(error.into()),
    };
    if !is_new && uid.is_none() {
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(above, name, flags, Mode::empty())?;
    if is_new {
        fchmod(&folder, Mode::from_raw_mode(mode))?;
    }
    if let Some(uid) = uid
        && fstat(&folder)?.st_uid != uid
    {
        fchown(&folder, Some(Uid::from_raw(uid)), Some(Gid::from_raw(uid)))?;
    }
    Ok(())
}
