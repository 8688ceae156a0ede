//! Who uses how much.

use std::collections::BTreeMap;

use atelier_domain::files::{STAGING, USERS};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Stat, fstat, statat};

use crate::area::{Area, INCOMING, TRASH};
use crate::entry::Entry;
use crate::error::Result;
use crate::tree::{DEEPEST, is_folder, step};
use crate::upload::DONE;

/// So many files are counted before it is said that there are more.
const MOST: u64 = 5_000_000;
/// So many of the largest files are named for each.
const LARGEST: usize = 10;

/// A large file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Large {
    /// How many bytes it has on disk.
    pub size: u64,
    /// Where it is, as a path in the area.
    pub path: String,
    /// When it was last changed.
    pub changed: i64,
}

/// What somebody uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedBy {
    /// Bytes on disk, everything together.
    pub bytes: u64,
    pub files: u64,
    /// Of the bytes: what lies in the trash.
    pub trash: u64,
    /// Of the bytes: uploads that are not complete.
    pub uploads: u64,
    /// The largest files, largest first; not those in the trash.
    pub largest: Vec<Large>,
}

impl UsedBy {
    fn add(&mut self, size: u64, place: Place, path: impl FnOnce() -> String, changed: i64) {
        self.bytes += size;
        self.files += 1;
        match place {
            Place::Trash => self.trash += size,
            Place::Uploads => self.uploads += size,
            Place::Area => {
                let smallest = self.largest.last().map_or(0, |large| large.size);
                if self.largest.len() < LARGEST || size > smallest {
                    self.largest.push(Large { size, path: path(), changed });
                    self.largest.sort_by(|a, b| b.cmp(a));
                    self.largest.truncate(LARGEST);
                }
            }
        }
    }
}

/// What everybody uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// By the number of the user, where people have users of their own.
    pub by_user: BTreeMap<u32, UsedBy>,
    /// By the short name of whose folder it lies in; what is shared is under the empty name.
    pub by_place: BTreeMap<String, UsedBy>,
    pub bytes: u64,
    pub files: u64,
    /// Whether there is more than was counted.
    pub is_partial: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Area,
    Trash,
    Uploads,
}

impl Area {
    /// Counts everything. Takes its time; as ourselves, since it is about everybody.
    pub fn usage(&self) -> Result<Usage> {
        let mut usage = Usage::default();
        let root = step(&self.root, ".")?;
        let mut walk = |folder: OwnedFd, place: Place, whose: Option<&Keeper>| {
            count(folder, String::new(), place, whose, &mut usage)
        };
        walk(root, Place::Area, None)?;
        for (kind, place) in [(TRASH, Place::Trash), (INCOMING, Place::Uploads)] {
            let path = format!("{STAGING}/{kind}");
            let folder = step(self.beneath(&self.root, &path, crate::area::FOLDER)?, ".")?;
            for found in Dir::read_from(&folder)?.flatten() {
                let Ok(name) = found.file_name().to_str() else { continue };
                if name != "." && name != ".." && is_folder(&folder, found.file_name(), found.file_type()) {
                    let Ok(inner) = step(&folder, name) else { continue };
                    let keeper = Keeper { handle: name.to_owned(), uid: fstat(&inner)?.st_uid };
                    walk(inner, place, Some(&keeper))?;
                }
            }
        }
        Ok(usage)
    }
}

struct Frame {
    folder: OwnedFd,
    entries: Dir,
    path: String,
}

/// In whose trash or uploads something lies. It counts as theirs, whoever made it: they alone can remove it
/// from there.
struct Keeper {
    handle: String,
    uid: u32,
}

fn count(folder: OwnedFd, path: String, place: Place, whose: Option<&Keeper>, usage: &mut Usage) -> Result<()> {
    let mut stack = vec![Frame { entries: Dir::read_from(&folder)?, folder, path }];
    loop {
        let depth = stack.len();
        let Some(frame) = stack.last_mut() else { return Ok(()) };
        let Some(found) = frame.entries.read() else {
            stack.pop();
            continue;
        };
        let Ok(found) = found else {
            stack.pop();
            continue;
        };
        let raw = found.file_name();
        if matches!(raw.to_bytes(), b"." | b"..") || usage.files >= MOST {
            usage.is_partial |= usage.files >= MOST;
            continue;
        }
        let Ok(info) = statat(&frame.folder, raw, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let name = raw.to_string_lossy();
        let is_at_top = frame.path.is_empty() && place == Place::Area;
        // Notes of uploads that are in their place are ours, and go after a day.
        if is_at_top && name == STAGING || place == Place::Uploads && name.ends_with(DONE) {
            continue;
        }
        let path = || if frame.path.is_empty() { name.to_string() } else { format!("{}/{name}", frame.path) };
        if FileType::from_raw_mode(info.st_mode) == FileType::Directory {
            if depth >= DEEPEST {
                usage.is_partial = true;
                continue;
            }
            let (path, inner) = (path(), step(&frame.folder, &name));
            // A folder whose name is no text, or that is gone by now.
            let Ok(inner) = inner else { continue };
            if let Ok(entries) = Dir::read_from(&inner) {
                stack.push(Frame { folder: inner, entries, path });
            }
            continue;
        }
        let size = on_disk(&info);
        let changed = Entry::of(String::new(), &info).changed;
        let person = whose.map_or_else(|| owner_of(&frame.path), |keeper| keeper.handle.clone());
        let user = whose.map_or(info.st_uid, |keeper| keeper.uid);
        usage.bytes += size;
        usage.files += 1;
        usage.by_place.entry(person).or_default().add(size, place, path, changed);
        usage.by_user.entry(user).or_default().add(size, place, path, changed);
    }
}

/// In whose folder a folder lies, by its path.
fn owner_of(folder: &str) -> String {
    let mut names = folder.split('/');
    if names.next() == Some(USERS) { names.next().unwrap_or_default().to_owned() } else { String::new() }
}

/// What something takes on the disk; a file with holes has fewer bytes there than it says.
#[allow(clippy::useless_conversion, reason = "the type differs between machines")]
fn on_disk(info: &Stat) -> u64 {
    u64::try_from(info.st_blocks).unwrap_or_default().saturating_mul(512)
}

/// How many bytes a folder has on disk, with all that is in it, as far as it can be read.
pub fn size_of(folder: &OwnedFd, name: &str) -> u64 {
    let Ok(inner) = step(folder, name) else { return 0 };
    let mut usage = Usage::default();
    let _ = count(inner, "x".to_owned(), Place::Trash, None, &mut usage);
    usage.bytes
}
