//! What files are like, and changing that.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Gid, Mode, Timespec, Timestamps, Uid};

/// What a client wants a file to be like; what is left out stays.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Attributes {
    pub size: Option<u64>,
    pub owner: Option<(u32, u32)>,
    pub mode: Option<u32>,
    /// Of the last access and the last change, in seconds.
    pub times: Option<(u32, u32)>,
}

impl Attributes {
    /// The rights alone, without the kind of file.
    pub fn rights(&self) -> Option<u32> {
        self.mode.map(|mode| mode & 0o7777)
    }
}

/// Changes what a path is like; of a link itself, if it is not followed.
pub fn set(path: &Path, wanted: &Attributes, follows: bool) -> io::Result<()> {
    let flags = if follows { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    if let Some(size) = wanted.size {
        File::options().write(true).open(path)?.set_len(size)?;
    }
    if let Some((user, group)) = wanted.owner {
        rustix::fs::chownat(CWD, path, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)), flags)?;
    }
    if let Some(rights) = wanted.rights() {
        rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(rights), flags)?;
    }
    if let Some((accessed, changed)) = wanted.times {
        let time = |seconds: u32| Timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
        let times = Timestamps { last_access: time(accessed), last_modification: time(changed) };
        rustix::fs::utimensat(CWD, path, &times, flags)?;
    }
    Ok(())
}

/// Changes what an open file is like.
pub fn set_open(file: &File, wanted: &Attributes) -> io::Result<()> {
    if let Some(size) = wanted.size {
        file.set_len(size)?;
    }
    if let Some((user, group)) = wanted.owner {
        rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
    }
    if let Some(rights) = wanted.rights() {
        rustix::fs::fchmod(file, Mode::from_raw_mode(rights))?;
    }
    if let Some((accessed, changed)) = wanted.times {
        let time = |seconds: u32| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into());
        file.set_times(std::fs::FileTimes::new().set_accessed(time(accessed)).set_modified(time(changed)))?;
    }
    Ok(())
}
