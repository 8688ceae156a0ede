//! What was deleted, and back.
//!
//! Everybody has a folder of their own for it, on the same disk: `<id>` is what was deleted and `<id>.json`
//! says where it was. The note is durable before the thing moves, so whatever is there can be told apart
//! after a crash: a note alone is swept.

use std::fs::File;
use std::io::{Read as _, Write as _};

use atelier_domain::files::FilePath;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::area::{Area, TRASH, Who};
use crate::entry::{Entry, Kind};
use crate::error::{Error, Result, of_writing};
use crate::stage::sync;
use crate::{tree, usage};

/// A note is short.
const MOST_NOTE: u64 = 16 << 10;
/// So many numbers are tried beside a name that is taken.
const MOST_NAMES: u32 = 1_000;

/// Something that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// Under which it is kept.
    pub id: String,
    pub path: FilePath,
    /// When it was deleted, in milliseconds since 1970.
    pub at: i64,
    pub kind: Kind,
    /// How many bytes it has, with all that is in it.
    pub size: u64,
}

#[derive(Serialize, Deserialize)]
struct Note {
    path: String,
    at: i64,
}

impl Area {
    /// Moves something to the trash of who deletes it.
    pub fn delete(&self, who: &Who, path: &FilePath, now: i64) -> Result<String> {
        Self::acting(who, || {
            let parent = self.folder(&path.parent().ok_or(Error::Denied)?)?;
            // Said before anything is written: most of what cannot be deleted is not there any more.
            statat(&parent, path.name(), AtFlags::SYMLINK_NOFOLLOW)?;
            let trash = self.staging(TRASH, who)?;
            let id = format!("{now:013x}-{:016x}", rand::random::<u64>());
            let note = format!("{id}.json");
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let written =
                openat(&trash, &note, flags, Mode::from_raw_mode(0o600)).map_err(Error::from).and_then(|file| {
                    let text =
                        serde_json::to_vec(&Note { path: path.as_str().to_owned(), at: now }).unwrap_or_default();
                    let mut file = File::from(file);
                    file.write_all(&text).and_then(|()| file.sync_all()).map_err(of_writing)
                });
            let moved = match written {
                // A full disk must not keep anybody from making room: without its note it goes back by its
                // name alone.
                Ok(()) | Err(Error::Full { .. }) => renameat(&parent, path.name(), &trash, &id).map_err(Error::from),
                Err(error) => Err(error),
            };
            if let Err(error) = moved {
                let _ = unlinkat(&trash, &note, AtFlags::empty());
                return Err(error);
            }
            sync(&parent);
            sync(&trash);
            Ok(id)
        })
    }

    /// What is in somebody's trash, newest first.
    pub fn trash(&self, who: &Who) -> Result<Vec<Deleted>> {
        Self::acting(who, || {
            let trash = self.staging(TRASH, who)?;
            let folder = tree::step(&trash, ".")?;
            let mut all = Vec::new();
            for found in Dir::read_from(&folder)? {
                let found = found?;
                let Ok(id) = found.file_name().to_str() else { continue };
                if !is_id(id) {
                    continue;
                }
                let Ok(entry) = statat(&trash, id, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                let entry = Entry::of(id.to_owned(), &entry);
                let note = note_of(&trash, id);
                let path = place_of(who, id, note.as_ref())?;
                let at = note.map_or_else(|| time_of(id), |note| note.at);
                let size = if entry.kind == Kind::Folder { usage::size_of(&trash, id) } else { entry.size };
                all.push(Deleted { id: id.to_owned(), path, at, kind: entry.kind, size });
            }
            all.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
            Ok(all)
        })
    }

    /// Brings something back to where it was, under another name if that is taken by now. Says where it is.
    pub fn restore(&self, who: &Who, id: &str) -> Result<FilePath> {
        if !is_id(id) {
            return Err(Error::NotFound);
        }
        let wanted = Self::acting(who, || {
            let trash = self.staging(TRASH, who)?;
            statat(&trash, id, AtFlags::SYMLINK_NOFOLLOW)?;
            place_of(who, id, note_of(&trash, id).as_ref())
        })?;
        let parent = wanted.parent().ok_or(Error::NotFound)?;
        self.make_folders(who, &parent)?;
        Self::acting(who, || {
            let (trash, folder) = (self.staging(TRASH, who)?, self.folder(&parent)?);
            for number in 1..MOST_NAMES {
                let name = numbered(wanted.name(), number);
                let Ok(path) = parent.join(&name) else { return Err(Error::Exists) };
                match renameat_with(&trash, id, &folder, &name, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => continue,
                    other => other?,
                }
                sync(&folder);
                let _ = unlinkat(&trash, format!("{id}.json"), AtFlags::empty());
                return Ok(path);
            }
            Err(Error::Exists)
        })
    }

    /// Removes something from the trash for good, or all that was deleted until some time. Says how many
    /// there were. What cannot be removed does not keep the rest: the first problem is told at the end.
    pub fn purge(&self, who: &Who, id: Option<&str>, until: i64) -> Result<usize> {
        // As ourselves: what others have put into a folder goes with it. Nothing is followed, and nothing
        // outside is named.
        let trash = self.staging(TRASH, who)?;
        let folder = tree::step(&trash, ".")?;
        let mut names = Vec::new();
        for found in Dir::read_from(&folder)? {
            if let Ok(name) = found?.file_name().to_str() {
                names.push(name.to_owned());
            }
        }
        let (mut count, mut problem) = (0, None);
        for name in names {
            let is_wanted = match (id, is_id(&name)) {
                _ if name == "." || name == ".." => false,
                (Some(id), _) => name == id,
                (None, true) => note_of(&trash, &name).map_or_else(|| time_of(&name), |note| note.at) <= until,
                // What a removal that was cut short has left.
                (None, false) => name.ends_with(".gone"),
            };
            if is_wanted {
                match tree::remove(&folder, &name) {
                    Ok(()) => {
                        count += usize::from(is_id(&name));
                        let _ = unlinkat(&trash, format!("{name}.json"), AtFlags::empty());
                    }
                    Err(error) => problem = problem.or(Some(error)),
                }
            }
        }
        sync(&trash);
        problem.map_or(Ok(count), Err)
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 30 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Where something was, by its note; without one it belongs into the own folder of who deleted it.
fn place_of(who: &Who, id: &str, note: Option<&Note>) -> Result<FilePath> {
    match note.and_then(|note| FilePath::parse(&note.path).ok()).filter(|path| !path.is_top()) {
        Some(path) => Ok(path),
        None => FilePath::home_of(&who.handle).and_then(|home| home.join(id)).map_err(|_| Error::NotFound),
    }
}

/// When something was deleted, by its id.
fn time_of(id: &str) -> i64 {
    id.split('-').next().and_then(|hex| i64::from_str_radix(hex, 16).ok()).unwrap_or_default()
}

fn note_of(trash: &OwnedFd, id: &str) -> Option<Note> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(trash, format!("{id}.json"), flags, Mode::empty()).ok()?);
    let mut text = Vec::new();
    file.take(MOST_NOTE).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// `a.txt`, `a (2).txt`, `a (3).txt`.
fn numbered(name: &str, number: u32) -> String {
    match (number, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (_, Some((start, ending))) if !start.is_empty() => format!("{start} ({number}).{ending}"),
        _ => format!("{name} ({number})"),
    }
}
