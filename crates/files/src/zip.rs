//! A folder as one stream: a ZIP whose files are stored as they are.
//!
//! It is made while it is sent, piece by piece as somebody asks for the next, so it needs no room on the
//! disk, holds no thread for a slow browser and has bounded memory: one piece, and the names of what was sent
//! and of what waits in the folders on the way ([`Limits`]). Where there is more, the archive ends whole and
//! says so. Sizes follow each file (they are known only then), and everything is written in the form that has
//! no limits (ZIP64). Links and what cannot be read are left out and named in a last file.

use std::fs::File;
use std::io::Read as _;

use atelier_domain::files::FilePath;
use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

use crate::area::{Area, Who};
use crate::entry::{Entry, Kind};
use crate::error::{Error, Result};
use crate::tree::{DEEPEST, step};

/// The most of one archive.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Files and folders, with what is left out.
    things: usize,
    /// Bytes of names that are held.
    names: usize,
    /// Names of what is left out; the others are counted.
    left_out: usize,
}

const LIMITS: Limits = Limits { things: 200_000, names: 32 << 20, left_out: 1_000 };
/// How much is read at once.
const PIECE: usize = 256 << 10;
/// The name of the file that says what is not there.
const LEFT_OUT: &str = "LEFT-OUT.txt";

/// A ZIP that is being made.
#[derive(Debug)]
pub struct Zip {
    who: Who,
    stack: Vec<Folder>,
    current: Option<Current>,
    entries: Vec<Line>,
    /// The names of the first things that are left out.
    left_out: Vec<String>,
    /// How many are left out altogether.
    left_count: usize,
    /// Names in the folders on the way that were not looked at yet.
    waiting: usize,
    /// Bytes of all names that are held.
    held: usize,
    /// Whether there was more than the limits allow.
    is_cut: bool,
    limits: Limits,
    written: u64,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Files,
    LeftOut,
    Directory(usize),
    Done,
}

#[derive(Debug)]
struct Folder {
    folder: OwnedFd,
    path: String,
    /// Backwards, so that the next is the last.
    names: Vec<(String, FileType)>,
}

#[derive(Debug)]
struct Current {
    file: File,
    crc: crc32fast::Hasher,
    size: u64,
    /// How much of it is still to come. A file that grows meanwhile is read as far as it went when it was
    /// opened: a log that is written to all the time would never end.
    left: u64,
}

#[derive(Debug)]
struct Line {
    name: String,
    crc: u32,
    size: u64,
    offset: u64,
    date: (u16, u16),
    is_folder: bool,
}

impl Area {
    /// Begins a ZIP of a folder.
    pub fn zip(&self, who: &Who, path: &FilePath) -> Result<Zip> {
        self.zip_within(who, path, LIMITS)
    }

    fn zip_within(&self, who: &Who, path: &FilePath, limits: Limits) -> Result<Zip> {
        Self::acting(who, || {
            let name = if path.is_top() { "." } else { path.as_str() };
            let folder = self.beneath(&self.root, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let start = if path.is_top() { "Files" } else { path.name() };
            let mut zip = Zip {
                who: who.clone(),
                stack: Vec::new(),
                current: None,
                entries: Vec::new(),
                left_out: Vec::new(),
                left_count: 0,
                waiting: 0,
                held: 0,
                is_cut: false,
                limits,
                written: 0,
                stage: Stage::Files,
            };
            zip.enter(folder, start.to_owned(), path.is_top())?;
            Ok(zip)
        })
    }
}

impl Zip {
    /// The next piece; none at the end.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        let who = self.who.clone();
        Area::acting(&who, || {
            let mut out = Vec::with_capacity(PIECE + 1_024);
            while out.len() < PIECE && self.stage != Stage::Done {
                self.go_on(&mut out)?;
            }
            self.written += out.len() as u64;
            Ok((!out.is_empty()).then_some(out))
        })
    }

    fn go_on(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self.stage {
            Stage::Files => match &mut self.current {
                Some(_) => self.copy(out),
                None => self.next_file(out),
            },
            Stage::LeftOut => {
                if let Some(text) = self.what_is_missing() {
                    let crc = crc32fast::hash(text.as_bytes());
                    let line = self.begin(LEFT_OUT.to_owned(), (0, 0x21), false, out);
                    out.extend_from_slice(text.as_bytes());
                    self.push(Line { crc, size: text.len() as u64, ..line });
                    self.end_file(out);
                }
                self.stage = Stage::Directory(0);
                Ok(())
            }
            Stage::Directory(at) => {
                let Some(line) = self.entries.get(at) else {
                    self.finish(out);
                    self.stage = Stage::Done;
                    return Ok(());
                };
                directory_line(line, out);
                self.stage = Stage::Directory(at + 1);
                Ok(())
            }
            Stage::Done => Ok(()),
        }
    }

    fn copy(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let room = PIECE.saturating_sub(out.len()).max(4_096) as u64;
        let start = out.len();
        let read = (&mut current.file).take(room.min(current.left)).read_to_end(out)?;
        current.crc.update(&out[start..]);
        current.size += read as u64;
        current.left = current.left.saturating_sub(read as u64);
        if read == 0 {
            if let Some(done) = self.current.take()
                && let Some(line) = self.entries.last_mut()
            {
                line.size = done.size;
                line.crc = done.crc.finalize();
            }
            self.end_file(out);
        }
        Ok(())
    }

    fn next_file(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let depth = self.stack.len();
        let Some(folder) = self.stack.last_mut() else {
            self.stage = Stage::LeftOut;
            return Ok(());
        };
        let Some((name, kind)) = folder.names.pop() else {
            self.stack.pop();
            return Ok(());
        };
        self.waiting = self.waiting.saturating_sub(1);
        self.held = self.held.saturating_sub(name.len());
        let path = format!("{}/{name}", folder.path);
        // The name alone was held until now; with its way it may be too much.
        if self.held + path.len() >= self.limits.names {
            self.is_cut = true;
            self.stack.clear();
            return Ok(());
        }
        match kind {
            FileType::Directory if depth < DEEPEST => match step(&folder.folder, &name) {
                Ok(inner) => {
                    let before = self.stack.len();
                    match self.enter(inner, path.clone(), false) {
                        Ok(()) => {
                            let line = self.begin(format!("{path}/"), (0, 0x21), true, out);
                            self.push(line);
                        }
                        Err(_) => {
                            self.stack.truncate(before);
                            self.leave_out(path);
                        }
                    }
                }
                Err(_) => self.leave_out(path),
            },
            FileType::RegularFile => match open(&folder.folder, &name) {
                Ok((file, entry)) => {
                    let line = self.begin(path, dos_time(entry.changed), false, out);
                    self.push(line);
                    let crc = crc32fast::Hasher::new();
                    self.current = Some(Current { file, crc, size: 0, left: entry.size });
                }
                Err(_) => self.leave_out(path),
            },
            _ => self.leave_out(path),
        }
        Ok(())
    }

    /// Reads the names of a folder, as many as there is room for, and goes into it.
    fn enter(&mut self, folder: OwnedFd, path: String, is_top: bool) -> Result<()> {
        // The folder itself is about to be named, unless it is the one that was asked for.
        let own = usize::from(!self.stack.is_empty());
        let seen = self.entries.len() + self.left_count + self.waiting + own;
        let things = self.limits.things.saturating_sub(seen);
        let found = names_in(&folder, is_top, things, self.limits.names.saturating_sub(self.held))?;
        self.waiting += found.names.len();
        self.held += found.bytes;
        self.left_count += found.unnamable;
        self.is_cut |= found.is_cut;
        self.stack.push(Folder { folder, path, names: found.names });
        Ok(())
    }

    fn push(&mut self, line: Line) {
        self.held += line.name.len();
        self.entries.push(line);
    }

    fn leave_out(&mut self, path: String) {
        self.left_count += 1;
        if self.left_out.len() < self.limits.left_out {
            self.held += path.len();
            self.left_out.push(path);
        }
    }

    /// The words of the last file; none if everything is there.
    fn what_is_missing(&self) -> Option<String> {
        if self.left_count == 0 && !self.is_cut {
            return None;
        }
        let mut text = String::new();
        if self.is_cut {
            text.push_str(&format!(
                "This archive is not complete: it stopped after {} files and folders. One archive holds at most {}, \
                 with names of at most {} MiB together; folders may be missing, or something in them. Download the \
                 folders one by one.\n\n",
                self.entries.len(),
                self.limits.things,
                self.limits.names >> 20
            ));
        }
        if self.left_count > 0 {
            text.push_str("Not in this archive: links are not followed, and what you may not read is left out.\n\n");
            text.push_str(&self.left_out.join("\n"));
            match self.left_count - self.left_out.len() {
                0 => {}
                more => text.push_str(&format!("\n… and {more} more")),
            }
            text.push('\n');
        }
        Some(text)
    }

    /// Writes the head of a file; its sizes follow it.
    fn begin(&self, name: String, date: (u16, u16), is_folder: bool, out: &mut Vec<u8>) -> Line {
        let offset = self.written + out.len() as u64;
        let (sizes, flags) = if is_folder { (0_u32, 0x0800_u16) } else { (0xffff_ffff, 0x0808) };
        out.extend_from_slice(&0x0403_4b50_u32.to_le_bytes());
        out.extend_from_slice(&45_u16.to_le_bytes());
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        out.extend_from_slice(&date.0.to_le_bytes());
        out.extend_from_slice(&date.1.to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes());
        out.extend_from_slice(&sizes.to_le_bytes());
        out.extend_from_slice(&sizes.to_le_bytes());
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        let extra: u16 = if is_folder { 0 } else { 20 };
        out.extend_from_slice(&extra.to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        if !is_folder {
            out.extend_from_slice(&1_u16.to_le_bytes());
            out.extend_from_slice(&16_u16.to_le_bytes());
            out.extend_from_slice(&[0; 16]);
        }
        Line { name, crc: 0, size: 0, offset, date, is_folder }
    }

    /// Writes the sizes of the last file.
    fn end_file(&self, out: &mut Vec<u8>) {
        let Some(line) = self.entries.last() else { return };
        out.extend_from_slice(&0x0807_4b50_u32.to_le_bytes());
        out.extend_from_slice(&line.crc.to_le_bytes());
        out.extend_from_slice(&line.size.to_le_bytes());
        out.extend_from_slice(&line.size.to_le_bytes());
    }

    fn finish(&self, out: &mut Vec<u8>) {
        let end = self.written + out.len() as u64;
        let length: u64 = self.entries.iter().map(|line| 46 + line.name.len() as u64 + 28).sum();
        let (start, count) = (end - length, self.entries.len() as u64);
        out.extend_from_slice(&0x0606_4b50_u32.to_le_bytes());
        out.extend_from_slice(&44_u64.to_le_bytes());
        out.extend_from_slice(&45_u16.to_le_bytes());
        out.extend_from_slice(&45_u16.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&start.to_le_bytes());
        out.extend_from_slice(&0x0706_4b50_u32.to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes());
        out.extend_from_slice(&end.to_le_bytes());
        out.extend_from_slice(&1_u32.to_le_bytes());
        out.extend_from_slice(&0x0605_4b50_u32.to_le_bytes());
        out.extend_from_slice(&[0xff; 16]);
        out.extend_from_slice(&0_u16.to_le_bytes());
    }
}

/// A line of the directory at the end.
fn directory_line(line: &Line, out: &mut Vec<u8>) {
    let flags: u16 = if line.is_folder { 0x0800 } else { 0x0808 };
    out.extend_from_slice(&0x0201_4b50_u32.to_le_bytes());
    // Made on a system with rights of its kind.
    out.extend_from_slice(&0x032d_u16.to_le_bytes());
    out.extend_from_slice(&45_u16.to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&0_u16.to_le_bytes());
    out.extend_from_slice(&line.date.0.to_le_bytes());
    out.extend_from_slice(&line.date.1.to_le_bytes());
    out.extend_from_slice(&line.crc.to_le_bytes());
    out.extend_from_slice(&[0xff; 8]);
    out.extend_from_slice(&(line.name.len() as u16).to_le_bytes());
    out.extend_from_slice(&28_u16.to_le_bytes());
    out.extend_from_slice(&[0; 6]);
    let mode: u32 = if line.is_folder { 0o040_755 } else { 0o100_644 };
    out.extend_from_slice(&(mode << 16 | u32::from(line.is_folder) << 4).to_le_bytes());
    out.extend_from_slice(&[0xff; 4]);
    out.extend_from_slice(line.name.as_bytes());
    out.extend_from_slice(&1_u16.to_le_bytes());
    out.extend_from_slice(&24_u16.to_le_bytes());
    out.extend_from_slice(&line.size.to_le_bytes());
    out.extend_from_slice(&line.size.to_le_bytes());
    out.extend_from_slice(&line.offset.to_le_bytes());
}

fn open(folder: &OwnedFd, name: &str) -> Result<(File, Entry)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty())?;
    let entry = Entry::of(name.to_owned(), &rustix::fs::fstat(&file)?);
    if entry.kind == Kind::File { Ok((File::from(file), entry)) } else { Err(Error::Link) }
}

/// What was read of a folder.
struct Names {
    names: Vec<(String, FileType)>,
    /// How many bytes they have together.
    bytes: usize,
    /// How many are no text, or cannot be shown.
    unnamable: usize,
    /// Whether there are more.
    is_cut: bool,
}

/// The names in a folder: at most so many, with at most so many bytes together.
fn names_in(folder: &OwnedFd, is_top: bool, most: usize, most_bytes: usize) -> Result<Names> {
    let mut all = Names { names: Vec::new(), bytes: 0, unnamable: 0, is_cut: false };
    for found in Dir::read_from(folder)? {
        let found = found?;
        let name = found.file_name().to_str().ok().filter(|name| !name.chars().any(char::is_control));
        let Some(name) = name else {
            all.unnamable += 1;
            continue;
        };
        if name == "." || name == ".." || (is_top && name == atelier_domain::files::STAGING) {
            continue;
        }
        if all.names.len() >= most || all.bytes + name.len() > most_bytes {
            all.is_cut = true;
            break;
        }
        let mut kind = found.file_type();
        if kind == FileType::Unknown
            && let Ok(info) = rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        {
            kind = FileType::from_raw_mode(info.st_mode);
        }
        all.bytes += name.len();
        all.names.push((name.to_owned(), kind));
    }
    all.names.sort_unstable_by(|a, b| b.0.cmp(&a.0));
    Ok(all)
}

/// Time and date as ZIP has them, in UTC.
fn dos_time(millis: i64) -> (u16, u16) {
    let seconds = millis.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The civil calendar from days, with years that begin in March.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if !(1980..2108).contains(&year) {
        return (0, 0x21);
    }
    let date = ((year - 1980) << 9) | (month << 5) | day;
    let time = ((second / 3_600) << 11) | ((second / 60 % 60) << 5) | (second % 60 / 2);
    (u16::try_from(time).unwrap_or(0), u16::try_from(date).unwrap_or(0x21))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{Area, FilePath, LIMITS, Limits, Who, Zip};

    fn who() -> Who {
        Who { handle: "ines".into(), uid: None }
    }

    fn data() -> (tempfile::TempDir, Area, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let area = Area::open(&folder.path().join("shared")).expect("opens");
        let data = area.path().join("data");
        std::fs::create_dir(&data).expect("makes");
        (folder, area, data)
    }

    fn begin(area: &Area, limits: Limits) -> Zip {
        area.zip_within(&who(), &FilePath::parse("data").expect("a path"), limits).expect("begins")
    }

    /// Reads all of it. Files are stored as they are, so their texts are found in it.
    fn all_of(mut zip: Zip) -> (Zip, String) {
        let mut bytes = Vec::new();
        while let Some(piece) = zip.next_piece().expect("goes on") {
            bytes.extend(piece);
        }
        assert!(bytes.ends_with(&[0xff, 0xff, 0, 0]), "it has its end");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (zip, text)
    }

    #[test]
    fn what_is_too_much_ends_whole_and_says_so() {
        let (_folder, area, data) = data();
        for number in 0..20 {
            std::fs::create_dir(data.join(format!("folder-{number:02}"))).expect("makes");
            std::fs::write(data.join(format!("folder-{number:02}/file.txt")), "x").expect("writes");
        }
        let (zip, text) = all_of(begin(&area, LIMITS));
        assert!(!zip.is_cut && zip.entries.len() == 40 && !text.contains("LEFT-OUT"), "{}", zip.entries.len());
        for limits in [Limits { things: 25, ..LIMITS }, Limits { names: 400, ..LIMITS }] {
            let (zip, text) = all_of(begin(&area, limits));
            let count = zip.entries.len() - 1;
            assert!(zip.is_cut && count > 0 && count <= 25, "{limits:?}: {count}");
            assert!(text.contains(&format!("it stopped after {count} files and folders")), "{limits:?}: {text}");
            assert!(zip.held <= limits.names + 200, "{limits:?}: {}", zip.held);
        }
        // A folder with more names than there is room for is no mistake either.
        let (zip, text) = all_of(begin(&area, Limits { things: 3, ..LIMITS }));
        assert!(zip.is_cut && zip.entries.len() == 4 && text.contains("stopped after 3"), "{text}");
    }

    #[test]
    fn of_what_is_left_out_the_first_are_named_and_the_rest_counted() {
        let (_folder, area, data) = data();
        for number in 0..8 {
            std::os::unix::fs::symlink("nowhere", data.join(format!("link-{number}"))).expect("links");
        }
        let (zip, text) = all_of(begin(&area, Limits { left_out: 3, ..LIMITS }));
        assert_eq!((zip.left_out.len(), zip.left_count, zip.is_cut), (3, 8, false));
        assert!(text.contains("data/link-2\n… and 5 more") && !text.contains("link-3"), "{text}");
        let (zip, text) = all_of(begin(&area, Limits { things: 5, ..LIMITS }));
        assert!(zip.is_cut && zip.left_count == 5 && text.contains("stopped after 0"), "{text}");
    }

    #[test]
    fn a_file_that_grows_is_read_as_far_as_it_went() {
        let (_folder, area, data) = data();
        std::fs::write(data.join("log.txt"), "a".repeat(super::PIECE * 2)).expect("writes");
        let mut zip = begin(&area, LIMITS);
        let mut length = zip.next_piece().expect("goes on").expect("a piece").len();
        let mut log = std::fs::OpenOptions::new().append(true).open(data.join("log.txt")).expect("opens");
        log.write_all("b".repeat(super::PIECE * 4).as_bytes()).expect("writes");
        while let Some(piece) = zip.next_piece().expect("goes on") {
            assert!(!piece.windows(8).any(|part| part == b"bbbbbbbb"), "what came later is not in it");
            length += piece.len();
        }
        assert_eq!(zip.entries[0].size, super::PIECE as u64 * 2);
        assert!(length > super::PIECE * 2);
    }

    #[test]
    fn times_are_those_of_zip() {
        // 2026-03-03 13:18:09 UTC.
        let (time, date) = super::dos_time(1_772_543_889_000);
        assert_eq!((date >> 9, date >> 5 & 15, date & 31), (46, 3, 3));
        assert_eq!((time >> 11, time >> 5 & 63, time & 31), (13, 18, 4));
        assert_eq!(super::dos_time(0), (0, 0x21));
        assert_eq!(super::dos_time(951_782_400_000).1 & 31, 29, "29 February 2000");
    }
}
