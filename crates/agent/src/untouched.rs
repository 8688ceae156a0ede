//! Whether a private folder is as it was when it was made, so that the next job can have it: making and
//! removing one takes the file system longer than many jobs last.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir, flistxattr, fstat, openat};
use rustix::io::{Errno, Result};

/// Opens a folder; a link to one is none.
pub fn open(at: impl AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd> {
    openat(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Whether a folder belongs to that user, who has all rights and nobody else any.
pub fn is_private(folder: &OwnedFd, uid: u32) -> Result<bool> {
    let found = fstat(folder)?;
    Ok(found.st_uid == uid && found.st_mode & 0o7777 == 0o700 && !has_attributes(folder)?)
}

/// Whether it has attributes that people can set; lists of rights are such. The system's own are of no
/// matter.
fn has_attributes(folder: &OwnedFd) -> Result<bool> {
    let mut names = [0_u8; 256];
    match flistxattr(folder, &mut names) {
        Ok(length) => {
            let mut names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
            Ok(names.any(|name| !name.starts_with(b"security.")))
        }
        Err(Errno::NOTSUP) => Ok(false),
        // More than there is room for.
        Err(Errno::RANGE) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Whether these and no others are in a folder.
pub fn holds(folder: &OwnedFd, names: &[&str]) -> Result<bool> {
    let mut space = [MaybeUninit::uninit(); 1_024];
    let mut entries = RawDir::new(folder, &mut space);
    let mut found = 0;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if !names.iter().any(|known| known.as_bytes() == name) {
            return Ok(false);
        }
        found += 1;
    }
    Ok(found == names.len())
}
