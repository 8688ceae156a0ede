//! The copy of the program that agents run: it stays when the server's own is replaced.
//!
//! A released server carries the agent as a small program of its own. What a process has resident is mostly
//! the program itself, and there is an agent and a launcher for every node and person, while most of the
//! server's program is the portal.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// So much of the beginning and of the end goes into the hash: a whole program would take a second to read.
const PIECE: u64 = 1 << 20;

/// Everybody may run it, nobody else may read it: then nobody can look into a process that runs it, from its
/// first moment on.
const MODE: u32 = 0o711;

/// The agent as a program of its own, inside the server's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    pub bytes: &'static [u8],
    /// What tells two of them apart, known without reading it.
    pub hash: &'static str,
}

impl std::fmt::Debug for Carried {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} ({} bytes)", self.hash, self.bytes.len())
    }
}

/// Puts the program of agents into that folder, under its hash: the one that is carried, else the running
/// program itself. One that is there is used.
pub(super) fn copy_to(folder: &Path, carried: Option<Carried>) -> Result<PathBuf, String> {
    let placed = carried.map_or_else(|| place_own(folder), |carried| unpack(folder, carried));
    placed.map_err(|error| format!("the program could not be copied to {}: {error}", folder.display()))
}

fn unpack(folder: &Path, carried: Carried) -> io::Result<PathBuf> {
    let place = folder.join(format!("agent-{}", carried.hash));
    let length = carried.bytes.len() as u64;
    if place.metadata().is_ok_and(|found| found.mode() & 0o777 == MODE && found.len() == length) {
        return Ok(place);
    }
    write(folder, &place, &mut &*carried.bytes)?;
    Ok(place)
}

fn place_own(folder: &Path) -> io::Result<PathBuf> {
    // The very file that runs, also if its path has a newer one by now.
    let program = File::open("/proc/self/exe")?;
    let place = folder.join(format!("atelier-{}", hash(&program)?));
    if place.metadata().is_ok_and(|found| is_for_all(&found)) {
        return Ok(place);
    }
    std::fs::create_dir_all(folder)?;
    // A second name is as good as a copy, and takes no time: a newer version comes as another file.
    let is_linked = std::env::current_exe().is_ok_and(|path| {
        let is_same = path.metadata().is_ok_and(|found| {
            program.metadata().is_ok_and(|ours| (found.dev(), found.ino()) == (ours.dev(), ours.ino()))
        });
        is_same && program.metadata().is_ok_and(|ours| is_for_all(&ours)) && std::fs::hard_link(&path, &place).is_ok()
    });
    if is_linked {
        return Ok(place);
    }
    write(folder, &place, &mut &program)?;
    Ok(place)
}

/// Writes a program under its name, whole or not at all.
fn write(folder: &Path, place: &Path, program: &mut dyn io::Read) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".draft-{}", std::process::id()));
    let mut out = File::options().write(true).create(true).truncate(true).mode(MODE).open(&draft)?;
    io::copy(program, &mut out)?;
    out.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(MODE))?;
    out.sync_all()?;
    drop(out);
    std::fs::rename(&draft, place)
}

/// Whether everybody may run it: jobs are started by it, as their owners.
fn is_for_all(program: &std::fs::Metadata) -> bool {
    program.mode() & 0o001 == 0o001
}

/// A hash of what tells two builds apart.
fn hash(program: &File) -> io::Result<String> {
    let info = program.metadata()?;
    let mut hash = Sha256::new();
    hash.update(info.len().to_le_bytes());
    hash.update(info.mtime().to_le_bytes());
    hash.update(info.mtime_nsec().to_le_bytes());
    for offset in [0, info.len().saturating_sub(PIECE)] {
        let mut piece = vec![0; usize::try_from(PIECE.min(info.len())).unwrap_or_default()];
        program.read_exact_at(&mut piece, offset)?;
        hash.update(&piece);
    }
    Ok(atelier_domain::text::hex(&hash.finalize()[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARRIED: Carried = Carried { bytes: b"#!/bin/sh\necho agent\n", hash: "abc" };

    #[test]
    fn what_is_carried_is_unpacked_once_and_can_be_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = folder.path().join("bin");
        let place = copy_to(&programs, Some(CARRIED)).expect("unpacked");
        assert_eq!(place, programs.join("agent-abc"));
        let said = std::process::Command::new(&place).output().expect("runs").stdout;
        assert_eq!(said, b"agent\n");
        assert_eq!(place.metadata().expect("is there").mode() & 0o777, 0o711, "nobody else reads it");
        let first = place.metadata().expect("is there").ino();
        assert_eq!(copy_to(&programs, Some(CARRIED)), Ok(place.clone()));
        assert_eq!(place.metadata().expect("is there").ino(), first);
    }

    #[test]
    fn half_a_program_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("agent-abc"), b"#!/bin").expect("written");
        let place = copy_to(folder.path(), Some(CARRIED)).expect("unpacked");
        assert_eq!(std::fs::read(place).expect("reads"), CARRIED.bytes);
    }

    #[test]
    fn without_one_the_running_program_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = copy_to(&folder.path().join("bin"), None).expect("placed");
        assert_eq!(
            place.metadata().expect("is there").len(),
            std::env::current_exe().expect("a program").metadata().expect("is there").len()
        );
    }
}
