//! Content that comes in several requests: it can be cut off anywhere and go on where it was, also after a
//! restart. What counts is what lies on the disk: `<id>.part` is the content so far, and `<id>.json` says
//! where it is to go. When it is in its place, `<id>.done` says so until it is swept: whoever did not hear
//! the last answer asks again and is told.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use atelier_domain::files::FilePath;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, fstat, openat, renameat, statat, unlinkat};
use serde::{Deserialize, Serialize};

use crate::area::{Area, INCOMING, Who};
use crate::entry::{Entry, Kind};
use crate::error::{Error, Result, of_writing};
use crate::stage::{Expect, Staged};
use crate::tree;

/// A note is short.
const MOST_NOTE: u64 = 16 << 10;
/// How the note of an upload ends that is in its place.
pub const DONE: &str = ".done";
/// How notes and contents are opened. Not waiting: a pipe of that name would hold the thread for ever.
const READS: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// What is going to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUpload {
    /// Where it is to go.
    pub path: FilePath,
    /// How many bytes it has.
    pub size: u64,
    /// What is expected there.
    pub expect: Expect,
}

/// An upload that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    pub id: String,
    /// Where it is to go.
    pub path: FilePath,
    /// How many bytes it has in the end.
    pub size: u64,
    /// How many are there.
    pub offset: u64,
    /// Whether it is in its place.
    pub is_done: bool,
}

#[derive(Serialize, Deserialize)]
struct Note {
    path: String,
    size: u64,
    /// The version that is replaced: none for anything, empty for nothing.
    #[serde(default)]
    version: Option<String>,
}

impl Area {
    /// Begins an upload. Whether it could be put there is judged now, and again at its end.
    pub fn begin_upload(&self, who: &Who, new: &NewUpload) -> Result<Upload> {
        self.could_place(who, &new.path, &new.expect)?;
        Self::acting(who, || {
            let folder = self.staging(INCOMING, who)?;
            let id = format!("{:032x}", rand::random::<u128>());
            let version = match &new.expect {
                Expect::Anything => None,
                Expect::Nothing => Some(String::new()),
                Expect::Version(version) => Some(version.clone()),
            };
            let note = Note { path: new.path.as_str().to_owned(), size: new.size, version };
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let make = |name: String| openat(&folder, name, flags, Mode::from_raw_mode(0o600)).map(File::from);
            let begun = || -> Result<()> {
                make(format!("{id}.part"))?;
                let mut file = make(format!("{id}.json.new"))?;
                let text = serde_json::to_vec(&note).unwrap_or_default();
                file.write_all(&text).and_then(|()| file.sync_all()).map_err(of_writing)?;
                Ok(renameat(&folder, format!("{id}.json.new"), &folder, format!("{id}.json"))?)
            };
            if let Err(error) = begun() {
                forget(&folder, &id);
                return Err(self.with_room(error));
            }
            Ok(Upload { id, path: new.path.clone(), size: new.size, offset: 0, is_done: false })
        })
    }

    /// How far an upload is.
    pub fn upload(&self, who: &Who, id: &str) -> Result<Upload> {
        Self::acting(who, || match self.find_upload(who, id) {
            Ok((upload, ..)) => Ok(upload),
            Err(Error::NotFound) => self.find_done(who, id),
            Err(error) => Err(error),
        })
    }

    /// Adds a piece that begins where the last one ended.
    pub fn open_upload(&self, who: &Who, id: &str, offset: u64) -> Result<(File, Upload)> {
        Self::acting(who, || {
            let (upload, _, folder) = self.find_upload(who, id)?;
            if upload.offset != offset {
                return Err(Error::Offset { at: upload.offset });
            }
            let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut file = File::from(openat(&folder, format!("{id}.part"), flags, Mode::empty())?);
            file.seek(SeekFrom::Start(offset))?;
            Ok((file, upload))
        })
    }

    /// Puts an upload that is complete in its place.
    pub fn finish_upload(&self, who: &Who, id: &str) -> Result<Entry> {
        let (staged, path, expect) = Self::acting(who, || {
            let (upload, expect, folder) = self.find_upload(who, id)?;
            if upload.offset != upload.size {
                return Err(Error::Offset { at: upload.offset });
            }
            let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(openat(&folder, format!("{id}.part"), flags, Mode::empty())?);
            Ok((Staged::reopened(file, folder, format!("{id}.part"), who.clone()), upload.path, expect))
        })?;
        let placed = self.place(staged, &path, &expect)?;
        // It is in its place whatever becomes of the note: on a full disk whoever asks again hears that there
        // is no such upload.
        let _ = Self::acting(who, || {
            let folder = self.staging(INCOMING, who)?;
            let note =
                Note { path: path.as_str().to_owned(), size: placed.size, version: Some(placed.version.clone()) };
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let written = openat(&folder, format!("{id}{DONE}"), flags, Mode::from_raw_mode(0o600))
                .map_err(Error::from)
                .and_then(|file| {
                    File::from(file).write_all(&serde_json::to_vec(&note).unwrap_or_default()).map_err(of_writing)
                });
            forget(&folder, id);
            written
        });
        Ok(placed)
    }

    /// Gives an upload up.
    pub fn abandon_upload(&self, who: &Who, id: &str) -> Result<()> {
        Self::acting(who, || {
            let folder = match self.find_upload(who, id) {
                Ok((_, _, folder)) => folder,
                // The file is in its place and stays; only the note of it goes.
                Err(Error::NotFound) => self.find_done(who, id).and_then(|_| self.staging(INCOMING, who))?,
                Err(error) => return Err(error),
            };
            forget(&folder, id);
            let _ = unlinkat(&folder, format!("{id}{DONE}"), AtFlags::empty());
            Ok(())
        })
    }

    /// Removes what nobody has added to since some time. Says how many files there were. What cannot be
    /// removed does not keep the rest: the first problem is told at the end.
    pub fn sweep_uploads(&self, who: &Who, until: i64) -> Result<usize> {
        let folder = tree::step(self.staging(INCOMING, who)?, ".")?;
        let mut old = Vec::new();
        for found in Dir::read_from(&folder)? {
            let found = found?;
            let Ok(name) = found.file_name().to_str() else { continue };
            if name == "." || name == ".." {
                continue;
            }
            let Ok(info) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if Entry::of(String::new(), &info).changed <= until {
                old.push(name.to_owned());
            }
        }
        // The note of an upload is as old as its beginning: it stays while its content grows.
        let is_alive = |name: &str| {
            let id = name.split('.').next().unwrap_or(name);
            name.ends_with(".json")
                && statat(&folder, format!("{id}.part"), AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|info| Entry::of(String::new(), &info).changed > until)
        };
        let gone: Vec<&String> = old.iter().filter(|name| !is_alive(name)).collect();
        let (mut count, mut problem) = (0, None);
        for name in gone {
            match tree::remove(&folder, name) {
                Ok(()) => count += 1,
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        problem.map_or(Ok(count), Err)
    }

    /// An upload that is in its place.
    fn find_done(&self, who: &Who, id: &str) -> Result<Upload> {
        let note = read_note(&self.staging(INCOMING, who)?, id, DONE)?;
        let path = FilePath::parse(&note.path).map_err(|_| Error::NotFound)?;
        Ok(Upload { id: id.to_owned(), path, size: note.size, offset: note.size, is_done: true })
    }

    fn find_upload(&self, who: &Who, id: &str) -> Result<(Upload, Expect, OwnedFd)> {
        let folder = self.staging(INCOMING, who)?;
        let note = read_note(&folder, id, ".json")?;
        let path = FilePath::parse(&note.path).map_err(|_| Error::NotFound)?;
        let part = openat(&folder, format!("{id}.part"), READS, Mode::empty())?;
        let part = Entry::of(String::new(), &fstat(&part)?);
        if part.kind != Kind::File {
            return Err(Error::NotFound);
        }
        let expect = match note.version {
            None => Expect::Anything,
            Some(version) if version.is_empty() => Expect::Nothing,
            Some(version) => Expect::Version(version),
        };
        Ok((Upload { id: id.to_owned(), path, size: note.size, offset: part.size, is_done: false }, expect, folder))
    }
}

/// Reads a note of an upload. Ids that nobody was given name nothing.
fn read_note(folder: &OwnedFd, id: &str, ending: &str) -> Result<Note> {
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::NotFound);
    }
    let file = File::from(openat(folder, format!("{id}{ending}"), READS, Mode::empty())?);
    let mut text = Vec::new();
    file.take(MOST_NOTE).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(|_| Error::NotFound)
}

fn forget(folder: &OwnedFd, id: &str) {
    for ending in ["json", "json.new", "part"] {
        let _ = unlinkat(folder, format!("{id}.{ending}"), AtFlags::empty());
    }
}
