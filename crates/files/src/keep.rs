//! Outputs of a job into a folder of the area.
//!
//! Everything is copied beside first and put in its place in one step, so that the folder of a job is
//! complete or not there. If it is there already, this was done before: nothing is copied twice.

use std::fs::File;
use std::path::Path;

use atelier_domain::files::FilePath;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, RenameFlags, fstat, fsync, mkdirat, openat, renameat_with};
use rustix::io::Errno;

use crate::area::{Area, INCOMING, Who};
use crate::entry::{Entry, Kind};
use crate::error::{Error, Result, of_writing};
use crate::stage::sync;
use crate::tree::{self, step};

/// The most files of one job.
const MOST: usize = 100_000;
/// How deep folders are looked into.
const DEEPEST: usize = 32;

/// What was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The folder in which it is.
    pub path: FilePath,
    pub files: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Whether it was there before.
    pub is_old: bool,
}

impl Area {
    /// Copies what parts of a job left behind into the folder `name` in `into`, as its owner: each part as a
    /// subfolder, or as it is where its name is empty. `steps` lead from `outputs`, which is ours, to each
    /// part; no link is followed. `allowed` says how many bytes there may be.
    pub fn keep(
        &self,
        who: &Who,
        outputs: &Path,
        parts: &[(Vec<String>, String)],
        into: &FilePath,
        name: &str,
        allowed: u64,
    ) -> Result<Option<Kept>> {
        let path = into.join(name).map_err(|_| Error::NotFound)?;
        match self.look(who, &path) {
            Ok(_) => return Ok(Some(Kept { path, files: 0, bytes: 0, is_old: true })),
            Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let outputs = openat(CWD, outputs, flags, Mode::empty())?;
        // The ways are ours; what is at their ends is the owner's.
        let mut found = Vec::new();
        for (steps, part) in parts {
            let mut folder = Ok(outputs.try_clone()?);
            for name in steps {
                folder = folder.and_then(|folder| step(&folder, name));
            }
            if let Ok(folder) = folder {
                found.push((folder, part));
            }
        }
        self.make_folders(who, into)?;
        Self::acting(who, || {
            let staging = self.staging(INCOMING, who)?;
            let beside = format!("{name}.keep");
            tree::remove(&step(&staging, ".")?, &beside)?;
            let mode = Mode::from_raw_mode(0o700);
            mkdirat(&staging, &beside, mode).map_err(|error| self.with_room(error.into()))?;
            let target = step(&staging, &beside)?;
            let mut kept = Kept { path: path.clone(), files: 0, bytes: 0, is_old: false };
            let copied = found.iter().try_for_each(|(folder, part)| {
                if part.is_empty() {
                    return copy(folder, &target, 0, allowed, &mut kept);
                }
                mkdirat(&target, part.as_str(), mode)?;
                copy(folder, &step(&target, part)?, 0, allowed, &mut kept)
            });
            let placed = copied.and_then(|()| {
                if kept.files == 0 {
                    return Ok(());
                }
                let folder = self.folder(into)?;
                rustix::fs::fchmod(&target, Mode::from_raw_mode(crate::stage::new_mode(&path, &folder)?))?;
                let _ = fsync(&target);
                match renameat_with(&staging, &beside, &folder, name, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => kept.is_old = true,
                    other => other?,
                }
                sync(&folder);
                Ok(())
            });
            tree::remove(&step(&staging, ".")?, &beside)?;
            placed.map_err(|error| self.with_room(error))?;
            Ok((kept.files > 0).then_some(kept))
        })
    }
}

fn copy(from: &OwnedFd, to: &OwnedFd, depth: usize, allowed: u64, kept: &mut Kept) -> Result<()> {
    for found in Dir::read_from(from)? {
        let found = found?;
        let Ok(name) = found.file_name().to_str() else { continue };
        if name == "." || name == ".." {
            continue;
        }
        if tree::is_folder(from, found.file_name(), found.file_type()) {
            if depth < DEEPEST {
                let Ok(inner) = step(from, name) else { continue };
                mkdirat(to, name, Mode::from_raw_mode(0o755))?;
                copy(&inner, &step(to, name)?, depth + 1, allowed, kept)?;
            }
            continue;
        }
        if !matches!(found.file_type(), FileType::RegularFile | FileType::Unknown) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(source) = openat(from, name, flags, Mode::empty()) else { continue };
        let entry = Entry::of(String::new(), &fstat(&source)?);
        if entry.kind != Kind::File {
            continue;
        }
        kept.files += 1;
        kept.bytes = kept.bytes.saturating_add(entry.size);
        if kept.files as usize > MOST {
            return Err(Error::TooMany { most: MOST });
        }
        if kept.bytes > allowed {
            return Err(Error::Full { free: 0 });
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = openat(to, name, flags, Mode::from_raw_mode(0o644 | (entry.mode & 0o111)))?;
        let (mut source, mut target) = (File::from(source), File::from(target));
        std::io::copy(&mut source, &mut target).and_then(|_| target.sync_all()).map_err(of_writing)?;
    }
    Ok(())
}
