//! A folder as one stream: a ZIP whose files are stored as they are.
//!
//! It is made while it is sent, piece by piece as somebody asks for the next, so it needs no room on the disk, holds no thread for
//! a slow browser and has flat memory: one piece, the names of the folders on the way, and a line for each file. Sizes follow each
//! file (they are known only then), and everything is written in the form that has no limits (ZIP64). Links and what cannot be
//! read are left out and named in a last file.

use std::fs::File;
use std::io::Read as _;

use atelier_domain::files::FilePath;
use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

use crate::area::{Area, Who};
use crate::entry::{Entry, Kind};
use crate::error::{Error, Result};
use crate::tree::{DEEPEST, step};

/// The most files in one.
const MOST: usize = 200_000;
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
    left_out: Vec<String>,
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
        Self::acting(who, || {
            let name = if path.is_top() { "." } else { path.as_str() };
            let folder = self.beneath(&self.root, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let start = if path.is_top() { "Files" } else { path.name() };
            let first = Folder { names: names_in(&folder, path.is_top())?, folder, path: start.to_owned() };
            Ok(Zip {
                who: who.clone(),
                stack: vec![first],
                current: None,
                entries: Vec::new(),
                left_out: Vec::new(),
                written: 0,
                stage: Stage::Files,
            })
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
                if !self.left_out.is_empty() {
                    let mut text =
                        "Not in this archive: links are not followed, and what you may not read is left out.\n\n"
                            .to_owned();
                    text.push_str(&self.left_out.join("\n"));
                    text.push('\n');
                    let crc = crc32fast::hash(text.as_bytes());
                    let line = self.begin(LEFT_OUT.to_owned(), (0, 0x21), false, out);
                    out.extend_from_slice(text.as_bytes());
                    self.entries.push(Line { crc, size: text.len() as u64, ..line });
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
        let room = PIECE.saturating_sub(out.len()).max(4_096);
        let start = out.len();
        let read = (&mut current.file).take(room as u64).read_to_end(out)?;
        current.crc.update(&out[start..]);
        current.size += read as u64;
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
        if self.entries.len() >= MOST {
            return Err(Error::TooMany { most: MOST });
        }
        let path = format!("{}/{name}", folder.path);
        match kind {
            FileType::Directory if depth < DEEPEST => {
                let inner = step(&folder.folder, &name).map_err(Error::from);
                match inner.and_then(|inner| Ok((names_in(&inner, false)?, inner))) {
                    Ok((names, inner)) => {
                        let line = self.begin(format!("{path}/"), (0, 0x21), true, out);
                        self.entries.push(line);
                        self.stack.push(Folder { folder: inner, path, names });
                    }
                    Err(_) => self.left_out.push(path),
                }
            }
            FileType::RegularFile => match open(&folder.folder, &name) {
                Ok((file, entry)) => {
                    let line = self.begin(path, dos_time(entry.changed), false, out);
                    self.entries.push(line);
                    self.current = Some(Current { file, crc: crc32fast::Hasher::new(), size: 0 });
                }
                Err(_) => self.left_out.push(path),
            },
            _ => self.left_out.push(path),
        }
        Ok(())
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

/// The names in a folder, the first last.
fn names_in(folder: &OwnedFd, is_top: bool) -> Result<Vec<(String, FileType)>> {
    let mut names = Vec::new();
    for found in Dir::read_from(folder)? {
        let found = found?;
        let Ok(name) = found.file_name().to_str() else { continue };
        let is_ours = is_top && name == atelier_domain::files::STAGING;
        if name == "." || name == ".." || is_ours || name.chars().any(char::is_control) {
            continue;
        }
        let mut kind = found.file_type();
        if kind == FileType::Unknown
            && let Ok(info) = rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        {
            kind = FileType::from_raw_mode(info.st_mode);
        }
        names.push((name.to_owned(), kind));
        if names.len() > MOST {
            return Err(Error::TooMany { most: MOST });
        }
    }
    names.sort_unstable_by(|a, b| b.0.cmp(&a.0));
    Ok(names)
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
