//! New folders, other names and places, rights.

use atelier_domain::files::FilePath;
use rustix::fs::{Mode, OFlags, RenameFlags, fchmod, fstat, mkdirat, openat, renameat_with};
use rustix::io::Errno;

use crate::area::{Area, Who};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::stage::{new_mode, sync};

impl Area {
    /// Makes a folder, as open as the one that it is in.
    pub fn make_folder(&self, who: &Who, path: &FilePath) -> Result<Entry> {
        Self::acting(who, || {
            let parent = self.folder(&path.parent().ok_or(Error::Exists)?)?;
            let mode = Mode::from_raw_mode(new_mode(path, &parent)?);
            mkdirat(&parent, path.name(), mode).map_err(|error| self.with_room(error.into()))?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let made = openat(&parent, path.name(), flags, Mode::empty())?;
            // Whatever is kept from new folders in general.
            fchmod(&made, mode)?;
            sync(&parent);
            Ok(Entry::of(path.name().to_owned(), &fstat(&made)?))
        })
    }

    /// Makes a folder and those above it that are missing.
    pub fn make_folders(&self, who: &Who, path: &FilePath) -> Result<()> {
        let mut missing = Vec::new();
        let mut at = path.clone();
        loop {
            match self.look(who, &at) {
                Ok(_) => break,
                Err(Error::NotFound) => {
                    let above = at.parent();
                    missing.push(at);
                    match above {
                        Some(above) => at = above,
                        None => break,
                    }
                }
                Err(error) => return Err(error),
            }
        }
        for path in missing.iter().rev() {
            match self.make_folder(who, path) {
                Ok(_) | Err(Error::Exists) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Gives something another name or another place. Nothing is ever replaced.
    pub fn rename(&self, who: &Who, from: &FilePath, to: &FilePath) -> Result<Entry> {
        if to.is_in(from) && to != from {
            return Err(Error::IntoItself);
        }
        Self::acting(who, || {
            let (Some(from_parent), Some(to_parent)) = (from.parent(), to.parent()) else { return Err(Error::Denied) };
            let (old, new) = (self.folder(&from_parent)?, self.folder(&to_parent)?);
            match renameat_with(&old, from.name(), &new, to.name(), RenameFlags::NOREPLACE) {
                Err(Errno::INVAL) => return Err(Error::IntoItself),
                other => other?,
            }
            sync(&new);
            if from_parent != to_parent {
                sync(&old);
            }
            self.entry(to)
        })
    }

    /// Lets everybody look into somebody's own folder, or nobody. They alone write there.
    pub fn open_home(&self, who: &Who, is_open: bool) -> Result<()> {
        Self::acting(who, || {
            let home = FilePath::home_of(&who.handle).map_err(|_| Error::NotFound)?;
            let folder = self.beneath(&self.root, home.as_str(), OFlags::RDONLY | OFlags::DIRECTORY)?;
            fchmod(&folder, Mode::from_raw_mode(if is_open { 0o755 } else { 0o700 }))?;
            Ok(())
        })
    }
}
