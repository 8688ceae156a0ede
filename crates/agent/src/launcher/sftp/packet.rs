//! Questions and answers as bytes.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use super::attributes::Attributes;
use super::listing::Entry;

/// The longest question or answer: what OpenSSH has too.
pub const MAX_PACKET: usize = 256 << 10;
/// The most bytes of a file in one of them.
pub const MAX_DATA: u32 = (MAX_PACKET - 1024) as u32;

pub const INIT: u8 = 1;
const VERSION: u8 = 2;
pub const OPEN: u8 = 3;
pub const CLOSE: u8 = 4;
pub const READ: u8 = 5;
pub const WRITE: u8 = 6;
pub const LSTAT: u8 = 7;
pub const FSTAT: u8 = 8;
pub const SETSTAT: u8 = 9;
pub const FSETSTAT: u8 = 10;
pub const OPENDIR: u8 = 11;
pub const READDIR: u8 = 12;
pub const REMOVE: u8 = 13;
pub const MKDIR: u8 = 14;
pub const RMDIR: u8 = 15;
pub const REALPATH: u8 = 16;
pub const STAT: u8 = 17;
pub const RENAME: u8 = 18;
pub const READLINK: u8 = 19;
pub const SYMLINK: u8 = 20;
const STATUS: u8 = 101;
const HANDLE: u8 = 102;
const DATA: u8 = 103;
const NAME: u8 = 104;
const ATTRS: u8 = 105;
pub const EXTENDED: u8 = 200;
const EXTENDED_REPLY: u8 = 201;

/// What OpenSSH has added and is spoken here.
const EXTENSIONS: [(&str, &str); 7] = [
    ("posix-rename@openssh.com", "1"),
    ("statvfs@openssh.com", "2"),
    ("hardlink@openssh.com", "1"),
    ("fsync@openssh.com", "1"),
    ("lsetstat@openssh.com", "1"),
    ("limits@openssh.com", "1"),
    ("expand-path@openssh.com", "1"),
];

/// How a question went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Fine = 0,
    End = 1,
    NotThere = 2,
    Forbidden = 3,
    Failed = 4,
    BadMessage = 5,
    Unsupported = 8,
}

impl Code {
    /// What an error of the system is called here.
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NotThere,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Forbidden,
            io::ErrorKind::InvalidData => Self::BadMessage,
            io::ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Failed,
        }
    }
}

/// A question, read from its front.
pub struct Reader<'a>(pub &'a [u8]);

fn short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a part of the question is missing")
}

impl<'a> Reader<'a> {
    pub fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub fn number(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    pub fn need_number(&mut self) -> io::Result<u32> {
        self.number().ok_or_else(short)
    }

    pub fn need_long(&mut self) -> io::Result<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<8>().ok_or_else(short)?;
        self.0 = rest;
        Ok(u64::from_be_bytes(*bytes))
    }

    pub fn text(&mut self) -> io::Result<&'a [u8]> {
        let length = self.need_number()? as usize;
        let (text, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(text)
    }

    /// A path; an empty one is where the server began, which is home.
    pub fn path(&mut self) -> io::Result<PathBuf> {
        let text = self.text()?;
        if text.contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a path has no zero byte"));
        }
        Ok(PathBuf::from(OsStr::from_bytes(if text.is_empty() { b"." } else { text })))
    }

    pub fn handle(&mut self) -> io::Result<u32> {
        let bytes: [u8; 4] = self.text()?.try_into().map_err(|_| short())?;
        Ok(u32::from_be_bytes(bytes))
    }

    pub fn attributes(&mut self) -> io::Result<Attributes> {
        let flags = self.need_number()?;
        let mut given = Attributes::default();
        if flags & 1 != 0 {
            given.size = Some(self.need_long()?);
        }
        if flags & 2 != 0 {
            given.owner = Some((self.need_number()?, self.need_number()?));
        }
        if flags & 4 != 0 {
            given.mode = Some(self.need_number()?);
        }
        if flags & 8 != 0 {
            given.times = Some((self.need_number()?, self.need_number()?));
        }
        if flags & 0x8000_0000 != 0 {
            for _ in 0..self.need_number()? {
                self.text()?;
                self.text()?;
            }
        }
        Ok(given)
    }
}

/// What is said at the beginning.
pub fn version(into: &mut Vec<u8>) {
    whole(into, VERSION, |into| {
        into.extend(3_u32.to_be_bytes());
        for (name, version) in EXTENSIONS {
            text(into, name.as_bytes());
            text(into, version.as_bytes());
        }
    });
}

fn text(into: &mut Vec<u8>, bytes: &[u8]) {
    into.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    into.extend(bytes);
}

/// Writes an answer and then its length before it.
fn whole(into: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = into.len();
    into.extend([0, 0, 0, 0, kind]);
    fill(into);
    let length = u32::try_from(into.len() - start - 4).unwrap_or(u32::MAX);
    into[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// The answer to one question.
pub struct Answer<'a> {
    pub id: u32,
    pub into: &'a mut Vec<u8>,
}

impl Answer<'_> {
    fn whole(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        let id = self.id;
        whole(self.into, kind, |into| {
            into.extend(id.to_be_bytes());
            fill(into);
        });
    }

    pub fn status(&mut self, code: Code, words: &str) {
        self.whole(STATUS, |into| {
            into.extend((code as u32).to_be_bytes());
            text(into, words.as_bytes());
            text(into, b"en");
        });
    }

    pub fn fine(&mut self) {
        self.status(Code::Fine, "");
    }

    pub fn handle(&mut self, handle: &[u8]) {
        self.whole(HANDLE, |into| text(into, handle));
    }

    /// So many bytes of a file, read where they are sent from.
    pub fn data(&mut self, file: &File, offset: u64, length: u32) -> io::Result<()> {
        let start = self.into.len();
        self.whole(DATA, |into| into.extend([0; 4]));
        let data = self.into.len();
        self.into.resize(data + length.min(MAX_DATA) as usize, 0);
        let count = file.read_at(&mut self.into[data..], offset)?;
        if count == 0 && length > 0 {
            self.into.truncate(start);
            self.status(Code::End, "the file ends here");
            return Ok(());
        }
        self.into.truncate(data + count);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.into[data - 4..data].copy_from_slice(&count.to_be_bytes());
        self.into[start..start + 4].copy_from_slice(&(count + 9).to_be_bytes());
        Ok(())
    }

    pub fn attributes(&mut self, of: &Metadata) {
        self.whole(ATTRS, |into| attributes(into, of));
    }

    pub fn names(&mut self, entries: &[Entry]) {
        self.whole(NAME, |into| {
            into.extend(u32::try_from(entries.len()).unwrap_or(u32::MAX).to_be_bytes());
            for entry in entries {
                text(into, &entry.name);
                text(into, &entry.line);
                match &entry.metadata {
                    Some(metadata) => attributes(into, metadata),
                    None => into.extend(0_u32.to_be_bytes()),
                }
            }
        });
    }

    /// Numbers, as extensions answer.
    pub fn numbers(&mut self, numbers: &[u64]) {
        self.whole(EXTENDED_REPLY, |into| numbers.iter().for_each(|number| into.extend(number.to_be_bytes())));
    }
}

fn attributes(into: &mut Vec<u8>, of: &Metadata) {
    let seconds = |time: i64| u32::try_from(time.max(0)).unwrap_or(u32::MAX);
    into.extend(15_u32.to_be_bytes());
    into.extend(of.size().to_be_bytes());
    for number in [of.uid(), of.gid(), of.mode(), seconds(of.atime()), seconds(of.mtime())] {
        into.extend(number.to_be_bytes());
    }
}
