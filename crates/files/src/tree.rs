//! Folders with all that is in them.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::error::Result;

/// How deep folders are walked into. Programs can make them deeper; nobody can ask for those.
pub const DEEPEST: usize = 64;

/// Opens a folder in a folder to read it.
pub fn step(folder: impl AsFd, name: &str) -> rustix::io::Result<OwnedFd> {
    openat(folder, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Whether something is a folder, by what the folder says of it or by asking.
pub fn is_folder(folder: impl AsFd, name: &std::ffi::CStr, told: FileType) -> bool {
    match told {
        FileType::Unknown => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory),
        told => told == FileType::Directory,
    }
}

/// Removes what has that name in a folder, with all that is in it, however deep: folders in folders are moved up first, so two
/// are open at a time and no path gets long. Never follows a link.
pub fn remove(folder: &OwnedFd, name: &str) -> Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let mut waiting = vec![name.to_owned()];
    while let Some(name) = waiting.pop() {
        let inner = match step(folder, &name) {
            Ok(inner) => inner,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        // What is added meanwhile is found in the next round; somebody who never ends to add is left to the next sweep.
        for _ in 0..8 {
            for found in Dir::read_from(&inner)? {
                let found = found?;
                let entry = found.file_name();
                if matches!(entry.to_bytes(), b"." | b"..") {
                    continue;
                }
                if is_folder(&inner, entry, found.file_type()) {
                    let up = format!("{:032x}.gone", rand::random::<u128>());
                    renameat(&inner, entry, folder, &up)?;
                    waiting.push(up);
                } else {
                    match unlinkat(&inner, entry, AtFlags::empty()) {
                        Ok(()) | Err(Errno::NOENT) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            match unlinkat(folder, &name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => break,
                Err(Errno::NOTEMPTY) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}
