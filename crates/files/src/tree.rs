//! Folders with all that is in them.

use rustix::fd::{AsFd, AsRawFd as _, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, chmod, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

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

/// Makes a folder of ours one that we may change: programs leave folders behind that nobody may write to, and
/// what is in those could never be removed by who owns them. What is another's stays as it is, and no link is
/// followed.
fn unlock(folder: impl AsFd, name: impl Arg) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(inner) = openat(folder, name, flags, Mode::empty()) else { return };
    let Ok(found) = fstat(&inner) else { return };
    if found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & 0o700 != 0o700 {
        // A folder that may not be read cannot be opened to be changed; the kernel's own name for what is
        // open leads to it. If this does not work the removal says why.
        let _ = chmod(format!("/proc/self/fd/{}", inner.as_raw_fd()), Mode::from_raw_mode(0o700));
    }
}

/// Removes what has that name in a folder, with all that is in it, however deep: folders in folders are moved
/// up first, so two are open at a time and no path gets long. Never follows a link.
pub fn remove(folder: &OwnedFd, name: &str) -> Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let mut waiting = vec![name.to_owned()];
    while let Some(name) = waiting.pop() {
        unlock(folder, name.as_str());
        let inner = match step(folder, &name) {
            Ok(inner) => inner,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        // What is added meanwhile is found in the next round; somebody who never ends to add is left to the
        // next sweep.
        for _ in 0..8 {
            for found in Dir::read_from(&inner)? {
                let found = found?;
                let entry = found.file_name();
                if matches!(entry.to_bytes(), b"." | b"..") {
                    continue;
                }
                if is_folder(&inner, entry, found.file_type()) {
                    let up = format!("{:032x}.gone", rand::random::<u128>());
                    // A folder that moves is written to as well: what is above it changes.
                    unlock(&inner, entry);
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
