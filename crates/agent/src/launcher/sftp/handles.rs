//! Files and folders that a client has open.

use std::collections::HashMap;
use std::fs::{File, ReadDir};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::attributes::Attributes;
use super::listing::Entry;

/// The most at once.
const MOST: usize = 1_000;
/// So many entries of a folder are answered at once.
const ENTRIES: usize = 200;

const READ: u32 = 1;
const WRITE: u32 = 2;
const APPEND: u32 = 4;
const CREATE: u32 = 8;
const TRUNCATE: u32 = 16;
const NEW: u32 = 32;

enum Open {
    File { file: File, appends: bool },
    Folder { path: PathBuf, rest: ReadDir, has_dots: bool },
}

/// All of them.
#[derive(Default)]
pub struct Handles {
    open: HashMap<u32, Open>,
    last: u32,
}

fn unknown() -> io::Error {
    io::Error::other("this is not open")
}

impl Handles {
    fn keep(&mut self, open: Open) -> io::Result<[u8; 4]> {
        if self.open.len() >= MOST {
            return Err(io::Error::other(format!("{MOST} files are open, and more are not allowed")));
        }
        self.last = self.last.wrapping_add(1);
        self.open.insert(self.last, open);
        Ok(self.last.to_be_bytes())
    }

    pub fn open(&mut self, path: &Path, flags: u32, given: &Attributes) -> io::Result<[u8; 4]> {
        let has = |flag: u32| flags & flag != 0;
        let mut options = File::options();
        options.read(has(READ)).write(has(WRITE)).append(has(APPEND) && has(WRITE));
        options.create(has(CREATE)).create_new(has(CREATE) && has(NEW));
        options.truncate(has(TRUNCATE) && !has(APPEND)).mode(given.rights().unwrap_or(0o666));
        let file = options.open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::other("this is a folder"));
        }
        self.keep(Open::File { file, appends: has(APPEND) })
    }

    pub fn open_folder(&mut self, path: &Path) -> io::Result<[u8; 4]> {
        let rest = std::fs::read_dir(path)?;
        self.keep(Open::Folder { path: path.to_owned(), rest, has_dots: false })
    }

    pub fn close(&mut self, handle: u32) -> io::Result<()> {
        self.open.remove(&handle).map(|_| ()).ok_or_else(unknown)
    }

    pub fn file(&self, handle: u32) -> io::Result<&File> {
        match self.open.get(&handle) {
            Some(Open::File { file, .. }) => Ok(file),
            _ => Err(unknown()),
        }
    }

    pub fn write(&self, handle: u32, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self.open.get(&handle) {
            Some(Open::File { file, appends: true }) => io::Write::write_all(&mut &*file, bytes),
            Some(Open::File { file, .. }) => file.write_all_at(bytes, offset),
            _ => Err(unknown()),
        }
    }

    /// The next entries of a folder; none once there are no more. What goes away meanwhile is left out.
    pub fn next_entries(&mut self, handle: u32) -> io::Result<Vec<Entry>> {
        let Some(Open::Folder { path, rest, has_dots }) = self.open.get_mut(&handle) else { return Err(unknown()) };
        let mut entries = Vec::new();
        if !std::mem::replace(has_dots, true) {
            for dots in [".", ".."] {
                entries.push(Entry::of(dots.into(), std::fs::symlink_metadata(path.join(dots)).ok()));
            }
        }
        for found in rest.by_ref() {
            let found = found?;
            if let Ok(metadata) = found.metadata() {
                entries.push(Entry::of(found.file_name(), Some(metadata)));
            }
            if entries.len() >= ENTRIES {
                break;
            }
        }
        Ok(entries)
    }
}
