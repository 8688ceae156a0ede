//! What the disk says about one thing.

use rustix::fs::{FileType, Stat};

/// What kind of thing it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Folder,
    File,
    /// A link. It can be deleted and moved, and is not followed.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

impl Kind {
    pub(crate) const fn of(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }

    /// The word in the API.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::File => "file",
            Self::Link => "link",
            Self::Other => "other",
        }
    }
}

/// A file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub kind: Kind,
    /// How many bytes it has; 0 for folders.
    pub size: u64,
    /// When its content was last changed, in milliseconds since 1970.
    pub changed: i64,
    /// The number of the user that it belongs to.
    pub owner: u32,
    /// Who may do what with it, as on disk.
    pub mode: u32,
    /// Changes with its content.
    pub version: String,
}

impl Entry {
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "the types of these fields differ between machines"
    )]
    pub(crate) fn of(name: String, found: &Stat) -> Self {
        let kind = Kind::of(FileType::from_raw_mode(found.st_mode));
        let nanos = i64::try_from(found.st_mtime_nsec).unwrap_or_default();
        let size = u64::try_from(found.st_size).unwrap_or_default();
        Self {
            name,
            kind,
            size: if kind == Kind::File { size } else { 0 },
            changed: i64::from(found.st_mtime).saturating_mul(1_000).saturating_add(nanos / 1_000_000),
            owner: found.st_uid,
            mode: found.st_mode as u32 & 0o7777,
            version: format!("{:x}-{size:x}-{:x}-{nanos:x}", found.st_ino, found.st_mtime),
        }
    }

    /// Whether everybody may look at it.
    pub const fn is_open(&self) -> bool {
        match self.kind {
            Kind::Folder => self.mode & 0o005 == 0o005,
            _ => self.mode & 0o004 != 0,
        }
    }
}
