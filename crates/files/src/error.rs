//! Why something was not done.

use rustix::io::Errno;

/// Why something was not done with files. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such thing.
    #[error("there is no such file or folder")]
    NotFound,
    /// Something of that name is there already.
    #[error("something of that name is there already")]
    Exists,
    /// The rights on disk do not allow it.
    #[error("the rights on disk do not allow it")]
    Denied,
    /// A folder is needed.
    #[error("this is no folder")]
    NotAFolder,
    /// A file is needed.
    #[error("this is a folder, not a file")]
    IsAFolder,
    /// It is a link, a pipe or a device, or the way leads over a link.
    #[error("this is a link, or the way to it leads over one; links are not followed")]
    Link,
    /// The file is not the one that was looked at.
    #[error("somebody has changed it meanwhile")]
    Changed {
        /// Its version now; none if it is gone.
        now: Option<String>,
    },
    /// The disk has no room.
    #[error("the disk has no room: {free} bytes are free")]
    Full {
        /// How many bytes are free.
        free: u64,
    },
    /// A piece of an upload does not follow what is there.
    #[error("the upload goes on at byte {at}")]
    Offset {
        /// How many bytes are there.
        at: u64,
    },
    /// Somebody else is at it.
    #[error("another request is at it")]
    Busy,
    /// A folder cannot be moved into itself.
    #[error("a folder cannot be moved into itself")]
    IntoItself,
    /// The places are on different disks.
    #[error("the two places are on different disks")]
    OtherDisk,
    /// There is too much of it.
    #[error("there are more than {most} files in it")]
    TooMany {
        /// How many are taken.
        most: usize,
    },
    /// Anything else that the system says.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// What came of something done with files.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Errno> for Error {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::NotFound,
            Errno::EXIST | Errno::NOTEMPTY => Self::Exists,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Denied,
            Errno::NOTDIR => Self::NotAFolder,
            Errno::ISDIR => Self::IsAFolder,
            Errno::LOOP => Self::Link,
            Errno::XDEV => Self::OtherDisk,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Self::Full { free: 0 },
            other => Self::Io(other.into()),
        }
    }
}

/// What writing says, in the same words.
pub fn of_writing(error: std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(number) => Errno::from_raw_os_error(number).into(),
        None => Error::Io(error),
    }
}
