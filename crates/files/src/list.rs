//! What is in a folder.

use std::cmp::Ordering;

use atelier_domain::files::{FilePath, STAGING};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};

use crate::area::{Area, Who};
use crate::entry::{Entry, Kind};
use crate::error::Result;
use crate::tree;

/// So many names of one folder are read; a folder with more says so.
const MOST: usize = 200_000;

/// In which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By name, folders first.
    #[default]
    Name,
    /// By size, folders first.
    Size,
    /// By the time of the last change.
    Changed,
}

/// Which part of a folder is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub order: Order,
    pub is_backwards: bool,
    /// Only names with this in them, whatever the case.
    pub part: String,
    /// So many are passed over.
    pub skip: usize,
    /// At most so many.
    pub most: usize,
    /// Whether names that begin with a dot are left out.
    pub hides_dots: bool,
}

/// A part of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<Entry>,
    pub matching: usize,
    /// How many there are.
    pub total: usize,
    /// How many are left out, since their names begin with a dot.
    pub hidden: usize,
    /// How many have names that are no text.
    pub unnamable: usize,
    /// Whether there are more than are ever read.
    pub has_more: bool,
}

impl Area {
    /// Lists a folder. What is deleted meanwhile is left out.
    pub fn list(&self, who: &Who, path: &FilePath, wanted: &Wanted) -> Result<Listing> {
        Self::acting(who, || {
            let name = if path.is_top() { "." } else { path.as_str() };
            let folder = self.beneath(&self.root, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let mut listing = Listing::default();
            let mut names: Vec<(String, Kind)> = Vec::new();
            let part = wanted.part.to_lowercase();
            for found in Dir::read_from(&folder)? {
                let found = found?;
                let Ok(name) = found.file_name().to_str() else {
                    listing.unnamable += 1;
                    continue;
                };
                if name == "." || name == ".." || (path.is_top() && name == STAGING) {
                    continue;
                }
                if path.join(name).is_err() {
                    listing.unnamable += 1;
                    continue;
                }
                if listing.total == MOST {
                    listing.has_more = true;
                    break;
                }
                listing.total += 1;
                if wanted.hides_dots && name.starts_with('.') {
                    listing.hidden += 1;
                    continue;
                }
                if part.is_empty() || name.to_lowercase().contains(&part) {
                    let kind = match found.file_type() {
                        FileType::Unknown => {
                            let Ok(found) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                            Kind::of(FileType::from_raw_mode(found.st_mode))
                        }
                        known => Kind::of(known),
                    };
                    names.push((name.to_owned(), kind));
                }
            }
            listing.matching = names.len();
            let stat = |name: &str| {
                let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                Some(Entry::of(name.to_owned(), &found))
            };
            // Names are enough to sort by name: only what is shown is asked for more.
            listing.entries = if wanted.order == Order::Name {
                let mut keyed: Vec<_> =
                    names.into_iter().map(|(name, kind)| ((kind != Kind::Folder, name.to_lowercase()), name)).collect();
                keyed.sort_unstable();
                if wanted.is_backwards {
                    keyed.reverse();
                }
                let part = keyed.into_iter().skip(wanted.skip).take(wanted.most);
                part.filter_map(|(_, name)| stat(&name)).collect()
            } else {
                let mut all: Vec<Entry> = names.into_iter().filter_map(|(name, _)| stat(&name)).collect();
                all.sort_unstable_by(|a, b| {
                    let order = by(wanted.order, a, b);
                    if wanted.is_backwards { order.reverse() } else { order }.then_with(|| a.name.cmp(&b.name))
                });
                all.into_iter().skip(wanted.skip).take(wanted.most).collect()
            };
            Ok(listing)
        })
    }
}

/// So many names of one folder are read for a tree: it is beside something else, and must not cost more than
/// that.
const MOST_FOR_TREE: usize = 10_000;

/// The folders in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// The first by name.
    pub entries: Vec<Entry>,
    /// How many more there are.
    pub more: usize,
    /// Whether there is more than was read.
    pub is_partial: bool,
}

impl Area {
    /// The folders in a folder, at most so many, and `kept` among them whatever its place. Names that begin
    /// with a dot are left out.
    pub fn folders(&self, who: &Who, path: &FilePath, most: usize, kept: Option<&str>) -> Result<Folders> {
        Self::acting(who, || {
            let name = if path.is_top() { "." } else { path.as_str() };
            let folder = self.beneath(&self.root, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let mut names: Vec<(String, String)> = Vec::new();
            let mut all = Folders::default();
            for (read, found) in Dir::read_from(&folder)?.enumerate() {
                let found = found?;
                if read >= MOST_FOR_TREE {
                    all.is_partial = true;
                    break;
                }
                if !tree::is_folder(&folder, found.file_name(), found.file_type()) {
                    continue;
                }
                let Ok(name) = found.file_name().to_str() else { continue };
                let is_wanted = Some(name) != kept && !name.starts_with('.') && path.join(name).is_ok();
                if is_wanted {
                    names.push((name.to_lowercase(), name.to_owned()));
                }
            }
            names.sort_unstable();
            let room = most.saturating_sub(usize::from(kept.is_some()));
            all.more = names.len().saturating_sub(room);
            names.truncate(room);
            if let Some(kept) = kept {
                names.push((kept.to_lowercase(), kept.to_owned()));
                names.sort_unstable();
            }
            let stat = |name: String| {
                let found = statat(&folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
                Some(Entry::of(name, &found))
            };
            all.entries = names.into_iter().filter_map(|(_, name)| stat(name)).collect();
            Ok(all)
        })
    }
}

fn by(order: Order, a: &Entry, b: &Entry) -> Ordering {
    match order {
        Order::Name => a.name.cmp(&b.name),
        Order::Size => (a.kind != Kind::Folder, a.size).cmp(&(b.kind != Kind::Folder, b.size)),
        Order::Changed => a.changed.cmp(&b.changed),
    }
}
