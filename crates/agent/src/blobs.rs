//! Files for jobs: fetched from the server piece by piece, checked, and kept for the next job that wants
//! them.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use atelier_domain::text::hex;
use sha2::{Digest, Sha256};

/// Files for jobs, on disk.
#[derive(Debug)]
pub struct Blobs {
    folder: PathBuf,
    limit: u64,
    kept: VecDeque<(String, u64)>,
    wanted: VecDeque<String>,
    current: Option<Fetching>,
}

#[derive(Debug)]
struct Fetching {
    blob: String,
    file: File,
    hash: Sha256,
    offset: u64,
}

/// What a piece led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not of what is being fetched: late, or double.
    None,
    /// Ask for the next piece.
    More,
    Done(String),
    /// It is not, and why.
    Failed(String, String),
}

impl Blobs {
    /// In that folder, of which everything older is removed, at most so many bytes.
    pub fn new(folder: PathBuf, limit: u64) -> io::Result<Self> {
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, limit, kept: VecDeque::new(), wanted: VecDeque::new(), current: None })
    }

    /// Opens a file that is there.
    pub fn open(&mut self, blob: &str) -> Option<File> {
        let index = self.kept.iter().position(|(kept, _)| kept == blob)?;
        let entry = self.kept.remove(index)?;
        self.kept.push_back(entry);
        File::open(self.folder.join(blob)).ok()
    }

    /// Whether it is there.
    pub fn has(&self, blob: &str) -> bool {
        self.kept.iter().any(|(kept, _)| kept == blob)
    }

    /// It will be fetched.
    pub fn want(&mut self, blob: &str) {
        let is_current = self.current.as_ref().is_some_and(|current| current.blob == blob);
        if !is_current && !self.has(blob) && !self.wanted.iter().any(|wanted| wanted == blob) {
            self.wanted.push_back(blob.to_owned());
        }
    }

    /// What to ask the server for: the current one from where it is, or the next. `Err` names one that cannot
    /// be stored.
    pub fn next(&mut self) -> Option<Result<(String, u64), (String, String)>> {
        if self.current.is_none() {
            let blob = self.wanted.pop_front()?;
            let path = self.folder.join("coming");
            match File::options().write(true).create(true).truncate(true).open(path) {
                Ok(file) => self.current = Some(Fetching { blob, file, hash: Sha256::new(), offset: 0 }),
                Err(error) => return Some(Err((blob, error.to_string()))),
            }
        }
        self.current.as_ref().map(|current| Ok((current.blob.clone(), current.offset)))
    }

    /// Whether something is being fetched.
    pub const fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    pub fn piece(&mut self, blob: &[u8; 32], offset: u64, total: u64, bytes: &[u8]) -> Progress {
        let Some(current) = &mut self.current else { return Progress::None };
        if hex(blob) != current.blob || offset != current.offset {
            return Progress::None;
        }
        if let Err(error) = current.file.write_all(bytes) {
            return self.fail(&format!("it cannot be stored on the node: {error}"));
        }
        current.hash.update(bytes);
        current.offset += bytes.len() as u64;
        if current.offset < total && !bytes.is_empty() {
            return Progress::More;
        }
        if current.offset < total {
            return self.fail("the server sent an empty piece of it");
        }
        let found: [u8; 32] = current.hash.clone().finalize().into();
        if found != *blob {
            return self.fail("its content is not what its hash says");
        }
        let (blob, size) = (current.blob.clone(), current.offset);
        if let Err(error) = fs::rename(self.folder.join("coming"), self.folder.join(&blob)) {
            return self.fail(&error.to_string());
        }
        self.current = None;
        self.kept.push_back((blob.clone(), size));
        Progress::Done(blob)
    }

    /// The server does not have it.
    pub fn missing(&mut self, blob: &str, why: &str) -> Progress {
        if self.current.as_ref().is_some_and(|current| current.blob == blob) { self.fail(why) } else { Progress::None }
    }

    fn fail(&mut self, why: &str) -> Progress {
        match self.current.take() {
            Some(current) => Progress::Failed(current.blob, why.to_owned()),
            None => Progress::None,
        }
    }

    /// Whether it is too much.
    pub fn is_too_full(&self) -> bool {
        self.kept.iter().map(|(_, size)| size).sum::<u64>() > self.limit
    }

    /// Removes what was not used for the longest time, if it is too much. Only while no job waits for any of
    /// it.
    pub fn make_room(&mut self) {
        let mut total: u64 = self.kept.iter().map(|(_, size)| size).sum();
        while total > self.limit {
            if let Some((blob, size)) = self.kept.pop_front() {
                total -= size;
                drop(fs::remove_file(self.folder.join(blob)));
            }
        }
    }
}

/// Whether a text can be the name of a blob: 32 bytes in hexadecimal digits.
pub fn is_name(blob: &str) -> bool {
    blob.len() == 64 && blob.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8]) -> ([u8; 32], String) {
        let hash: [u8; 32] = Sha256::digest(bytes).into();
        (hash, hex(&hash))
    }

    #[test]
    fn pieces_make_a_checked_file_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut blobs = Blobs::new(folder.path().join("blobs"), 10).unwrap();
        let (hash, blob) = name(b"hello");
        blobs.want(&blob);
        blobs.want(&blob);
        assert_eq!(blobs.next(), Some(Ok((blob.clone(), 0))));
        assert_eq!(blobs.piece(&hash, 0, 5, b"he"), Progress::More);
        assert_eq!(blobs.piece(&hash, 0, 5, b"he"), Progress::None);
        assert_eq!(blobs.next(), Some(Ok((blob.clone(), 2))));
        assert_eq!(blobs.piece(&hash, 2, 5, b"llo"), Progress::Done(blob.clone()));
        assert!(blobs.open(&blob).is_some());
        assert_eq!(blobs.next(), None);
        let (hash, other) = name(b"0123456789");
        blobs.want(&other);
        blobs.next();
        assert_eq!(blobs.piece(&hash, 0, 10, b"0123456789"), Progress::Done(other.clone()));
        blobs.make_room();
        assert!(blobs.has(&other));
        assert!(blobs.open(&blob).is_none());
    }

    #[test]
    fn a_wrong_content_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut blobs = Blobs::new(folder.path().join("blobs"), 10).unwrap();
        let (hash, blob) = name(b"right");
        blobs.want(&blob);
        blobs.next();
        assert!(matches!(blobs.piece(&hash, 0, 5, b"wrong"), Progress::Failed(..)));
        assert!(!blobs.has(&blob) && is_name(&blob) && !is_name("../../etc/passwd"));
    }
}
