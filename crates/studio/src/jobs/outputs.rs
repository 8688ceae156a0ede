//! Files that jobs left behind: listed and handed out.
//!
//! Jobs write these folders, as users of their own and possibly while they are read. So no link is followed,
//! neither at the end of a path nor on the way: every step is opened from the step before, and only real
//! folders and files count.

use std::fs::File;
use std::path::Path;

use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::{Timestamp, UserId};
use atelier_engine::fleet::Folders;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use crate::jobs::submit::check_path;

/// How many files of one part are listed.
const MOST_FILES: usize = 500;
/// How deep folders are looked into.
const MOST_DEPTH: usize = 16;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Where in the folder.
    pub path: String,
    pub size: u64,
    pub changed: Timestamp,
}

/// What one part of one attempt left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    pub attempt: u32,
    /// Which part, from 0.
    pub rank: u32,
    pub node: NodeId,
    /// The files, by path.
    pub files: Vec<OutputFile>,
    /// Whether there are more than are listed.
    pub has_more: bool,
}

/// What a job left behind; parts that left nothing are left out. Blocks.
pub fn list(folders: &Folders, owner: &UserId, job: JobId, parts: &[(u32, Vec<NodeId>)]) -> Vec<Outputs> {
    let mut all = Vec::new();
    for (attempt, nodes) in parts {
        for (rank, node) in (0_u32..).zip(nodes) {
            let Ok(folder) = open_outputs(folders, owner, job, *attempt, rank) else { continue };
            let mut outputs = Outputs { attempt: *attempt, rank, node: *node, files: Vec::new(), has_more: false };
            look(&folder, "", 0, &mut outputs);
            outputs.files.sort_by(|a, b| a.path.cmp(&b.path));
            if !outputs.files.is_empty() {
                all.push(outputs);
            }
        }
    }
    all
}

/// Looks into a folder. What cannot be read is left out.
fn look(folder: &OwnedFd, path: &str, depth: usize, outputs: &mut Outputs) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        // A name that is not text cannot be in an address.
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." {
            continue;
        }
        let Ok(info) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let whole = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        match FileType::from_raw_mode(info.st_mode) {
            FileType::Directory if depth < MOST_DEPTH => {
                if let Ok(inner) = step(folder, name) {
                    look(&inner, &whole, depth + 1, outputs);
                }
            }
            FileType::RegularFile if check_path(&whole).is_ok() => {
                if outputs.files.len() == MOST_FILES {
                    outputs.has_more = true;
                    return;
                }
                let size = u64::try_from(info.st_size).unwrap_or_default();
                let changed = Timestamp(info.st_mtime.saturating_mul(1_000));
                outputs.files.push(OutputFile { path: whole, size, changed });
            }
            _ => {}
        }
    }
}

/// Opens a folder in a folder.
fn step(folder: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    openat(folder, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Opens the folder in which a part of an attempt leaves its outputs, without following a link.
pub fn open_outputs(
    folders: &Folders,
    owner: &UserId,
    job: JobId,
    attempt: u32,
    rank: u32,
) -> rustix::io::Result<OwnedFd> {
    let jobs = folders.jobs();
    let root = rustix::fs::open(&jobs, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let outputs = folders.outputs(owner, job, attempt, rank);
    let inside = outputs.strip_prefix(&jobs).unwrap_or(Path::new("."));
    let mut folder = root;
    for name in inside.iter() {
        folder = step(&folder, name.to_str().ok_or(rustix::io::Errno::NOENT)?)?;
    }
    Ok(folder)
}

/// Opens a file of the outputs, if it is one.
pub fn open_file(folder: OwnedFd, path: &str) -> std::io::Result<File> {
    let (folders, name) = path.rsplit_once('/').map_or(("", path), |(folders, name)| (folders, name));
    let mut folder = folder;
    for inner in folders.split('/').filter(|inner| !inner.is_empty()) {
        folder = step(&folder, inner)?;
    }
    // Not waiting: a pipe of that name would hold the thread for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&folder, name, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::ErrorKind::NotFound.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_not_followed_wherever_they_stand() {
        let data = tempfile::tempdir().expect("a folder");
        let folders = Folders::new(data.path());
        let (owner, job) = (UserId::new("user-1"), JobId(7));
        let outputs = folders.outputs(&owner, job, 1, 0);
        std::fs::create_dir_all(outputs.join("deep")).expect("makes");
        std::fs::write(outputs.join("deep/model.bin"), b"abc").expect("writes");
        std::fs::write(data.path().join("secret"), b"hush").expect("writes");
        let link = |from: &Path, to: &Path| std::os::unix::fs::symlink(to, from).expect("links");
        link(&outputs.join("secret"), &data.path().join("secret"));
        link(&outputs.join("way"), data.path());
        let parts = [(1, vec![NodeId(3)])];
        let listed = list(&folders, &owner, job, &parts);
        let paths: Vec<&str> = listed[0].files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["deep/model.bin"]);
        let open = |path: &str| open_file(open_outputs(&folders, &owner, job, 1, 0).expect("is there"), path);
        assert!(open("deep/model.bin").is_ok());
        assert!(open("secret").is_err() && open("way/secret").is_err() && open("deep").is_err());
        // A job that replaces the folder itself gains nothing.
        std::fs::rename(&outputs, outputs.with_file_name("moved")).expect("moves");
        link(&outputs, data.path());
        assert!(list(&folders, &owner, job, &parts).is_empty());
    }
}
