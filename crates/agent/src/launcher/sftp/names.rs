//! What is done to names: making, moving, removing, links, and what OpenSSH has added.

use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use super::attributes;
use super::handles::Handles;
use super::listing::Entry;
use super::packet::{self, Answer, Code, MAX_DATA, MAX_PACKET, Reader};

/// See [`super::serve_one`].
pub fn serve(kind: u8, reader: &mut Reader<'_>, answer: &mut Answer<'_>) -> io::Result<()> {
    let path = reader.path()?;
    match kind {
        packet::REMOVE => std::fs::remove_file(&path)?,
        packet::RMDIR => std::fs::remove_dir(&path)?,
        packet::MKDIR => {
            let rights = reader.attributes()?.rights().unwrap_or(0o777);
            std::fs::DirBuilder::new().mode(rights).create(&path)?;
        }
        packet::RENAME => {
            // Of the standard, which keeps what is there; clients that want it replaced ask OpenSSH's way.
            let to = reader.path()?;
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            let cwd = rustix::fs::CWD;
            match rustix::fs::renameat_with(cwd, &path, cwd, &to, flags) {
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => replace_nothing(&path, &to)?,
                other => other?,
            }
        }
        // The standard has them the other way round; everybody does it as OpenSSH does.
        packet::SYMLINK => std::os::unix::fs::symlink(&path, reader.path()?)?,
        packet::READLINK => {
            let target = std::fs::read_link(&path)?.into_os_string().into_vec();
            answer.names(&[Entry::named(target)]);
            return Ok(());
        }
        _ => {
            answer.names(&[Entry::named(real(&path)?.into_os_string().into_vec())]);
            return Ok(());
        }
    }
    answer.fine();
    Ok(())
}

/// Where a file system cannot do it at once.
fn replace_nothing(from: &Path, to: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(to).is_ok() {
        return Err(io::Error::other("there is something of that name already"));
    }
    std::fs::rename(from, to)
}

/// The whole path, without links and dots. What does not exist yet keeps its name as it is.
fn real(path: &Path) -> io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut whole = std::env::current_dir()?;
            for part in path.components() {
                match part {
                    Component::ParentDir => drop(whole.pop()),
                    Component::CurDir => {}
                    part => whole.push(part),
                }
            }
            Ok(whole)
        }
        found => found,
    }
}

/// What OpenSSH has added.
pub fn extended(handles: &Handles, reader: &mut Reader<'_>, answer: &mut Answer<'_>) -> io::Result<()> {
    match reader.text()? {
        b"posix-rename@openssh.com" => {
            std::fs::rename(reader.path()?, reader.path()?)?;
            answer.fine();
        }
        b"hardlink@openssh.com" => {
            std::fs::hard_link(reader.path()?, reader.path()?)?;
            answer.fine();
        }
        b"fsync@openssh.com" => {
            handles.file(reader.handle()?)?.sync_all()?;
            answer.fine();
        }
        b"lsetstat@openssh.com" => {
            let path = reader.path()?;
            attributes::set(&path, &reader.attributes()?, false)?;
            answer.fine();
        }
        b"limits@openssh.com" => {
            answer.numbers(&[MAX_PACKET as u64, MAX_DATA.into(), MAX_DATA.into(), 1_000]);
        }
        b"expand-path@openssh.com" => {
            let path = expanded(&reader.path()?);
            answer.names(&[Entry::named(real(&path)?.into_os_string().into_vec())]);
        }
        b"statvfs@openssh.com" => {
            let found = rustix::fs::statvfs(reader.path()?)?;
            let flags = found.f_flag.bits() & 3;
            answer.numbers(&[
                found.f_bsize,
                found.f_frsize,
                found.f_blocks,
                found.f_bfree,
                found.f_bavail,
                found.f_files,
                found.f_ffree,
                found.f_favail,
                found.f_fsid,
                flags,
                found.f_namemax,
            ]);
        }
        _ => answer.status(Code::Unsupported, "this is not known here"),
    }
    Ok(())
}

/// With `~` as the home, which is where this began.
fn expanded(path: &Path) -> PathBuf {
    let text = path.as_os_str().as_bytes();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (text, home) {
        (b"~", Some(home)) => home,
        ([b'~', b'/', ..], Some(home)) => {
            path.strip_prefix("~").map_or_else(|_| path.to_owned(), |rest| home.join(rest))
        }
        _ => path.to_owned(),
    }
}
