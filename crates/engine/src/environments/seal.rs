//! Closing an environment: everybody reads it, nobody writes it.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, lchown};
use std::path::Path;

use rustix::fs::OFlags;

/// Gives everything in a folder to `owner`, readable by all and writable by none, and tells what it takes of
/// the disk. The folder itself stays writable for its owner.
///
/// It is done from above, each thing through its own handle: code of a package may still run and put a link
/// in the way of what root is about to change.
pub(super) fn seal(folder: &Path, owner: Option<u32>) -> io::Result<u64> {
    seal_folder(folder, owner, 0o755)
}

fn seal_folder(path: &Path, owner: Option<u32>, mode: u32) -> io::Result<u64> {
    let folder = open(path, OFlags::DIRECTORY)?;
    if owner.is_some() {
        fchown(&folder, owner, owner)?;
    }
    folder.set_permissions(Permissions::from_mode(0o755))?;
    let mut size = folder.metadata()?.blocks() * 512;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            size += seal_folder(&path, owner, 0o555)?;
        } else if kind.is_file() {
            size += seal_file(&path, owner)?;
        } else if kind.is_symlink() {
            if owner.is_some() {
                lchown(&path, owner, owner)?;
            }
        } else {
            // A socket or a device has no business in there.
            fs::remove_file(&path)?;
        }
    }
    folder.set_permissions(Permissions::from_mode(mode))?;
    Ok(size)
}

fn seal_file(path: &Path, owner: Option<u32>) -> io::Result<u64> {
    let file = open(path, OFlags::NONBLOCK)?;
    if owner.is_some() {
        fchown(&file, owner, owner)?;
    }
    let info = file.metadata()?;
    let mode = if info.mode() & 0o111 == 0 { 0o444 } else { 0o555 };
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(info.blocks() * 512)
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = i32::try_from((flags | OFlags::NOFOLLOW).bits()).unwrap_or_default();
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_reads_and_nobody_writes_and_links_are_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, outside) = (folder.path().join("place"), folder.path().join("outside"));
        fs::create_dir_all(place.join("bin")).expect("made");
        fs::write(place.join("bin/run"), "x").expect("written");
        fs::write(place.join("data"), "x").expect("written");
        fs::write(&outside, "x").expect("written");
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
        set(&place.join("bin/run"), 0o4700);
        set(&place.join("data"), 0o600);
        set(&place.join("bin"), 0o777);
        set(&outside, 0o640);
        std::os::unix::fs::symlink(&outside, place.join("link")).expect("linked");
        assert!(seal(&place, None).expect("sealed") > 0);
        let mode = |path: &Path| fs::metadata(path).expect("is there").mode() & 0o7777;
        assert_eq!(mode(&place.join("bin/run")), 0o555);
        assert_eq!(mode(&place.join("data")), 0o444);
        assert_eq!(mode(&place.join("bin")), 0o555);
        assert_eq!(mode(&place), 0o755);
        assert_eq!(mode(&outside), 0o640);
        set(&place.join("bin"), 0o755);
    }
}
