//! Reaching an application's socket. The folder is the person's own: what lies there must be a socket of
//! theirs, else they could have the agent, who may go anywhere, connect them with somebody else's.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use tokio::net::UnixStream;

/// How often it is tried where too many want in at once, and the pause between.
const TRIES: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);

/// Connects to the socket of an application.
pub async fn connect(run: &Path, app: &str, uid: Option<u32>) -> io::Result<UnixStream> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, run, folder, Mode::empty())?;
    let socket = openat(folder, name(app), OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = fstat(&socket)?;
    let is_theirs = uid.is_none_or(|uid| found.st_uid == uid);
    if FileType::from_raw_mode(found.st_mode) != FileType::Socket || !is_theirs {
        return Err(io::Error::other("what lies there is not its socket"));
    }
    // By the handle, so that it is the one that was looked at.
    patiently(Path::new(&format!("/proc/self/fd/{}", socket.as_raw_fd()))).await
}

/// Connects to a socket. One at which too many wait to be let in says so at once; a little later there is
/// room.
pub async fn patiently(path: &Path) -> io::Result<UnixStream> {
    for _ in 0..TRIES {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(PAUSE).await,
            other => return other,
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// What the socket of an application is called.
pub fn name(app: &str) -> String {
    format!("{app}.sock")
}
